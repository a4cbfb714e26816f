// SPDX-License-Identifier: Apache-2.0
//
// A verb of the command line and its options.
//
// They are parsed by CLI11, which is header-only and takes ten seconds to compile in each file that
// includes it. Only verb.cc and main.cc do.
#ifndef LIBTRACE_CLI_VERB_H_
#define LIBTRACE_CLI_VERB_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace acceltrace::cli {

// Valid as long as its verb. Each setter returns the option, for chaining.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  // The name of its value in help; "" omits it.
  Option& TypeName(const std::string& name);
  Option& Required();
  // Takes one word each time that it is given.
  Option& OneWord();
  // If it is given several times, all words are used.
  Option& TakeAll();
  // Takes one word, and may be given once.
  Option& Once();
  // A word may have several values separated by this.
  Option& Delimiter(char delimiter);
  Option& OneOf(const std::vector<std::string>& words);
  Option& Positive();
  Option& InRange(uint64_t least, uint64_t most);
  Option& InRange(int least, int most);
  // The value is a number with k, kb, M, ...: powers of 1,000 or 1,024.
  Option& Size(bool of_1000);
  // The value is a number with one of these units, which stand for factors. The unit is required.
  Option& Units(const std::vector<std::pair<std::string, uint64_t>>& units);
  // Help shows the present value.
  Option& ShowDefault();
  Option& Excludes(const Option& other);
  // The heading under which it is listed in help.
  Option& Group(const std::string& name);

 private:
  CLI::Option* option_;
};

class Verb {
 public:
  // Does not own the app, which is the whole command line or a verb.
  explicit Verb(CLI::App* app) : app_(app) {}

  // The new verb is owned by this one.
  Verb* AddVerb(const std::string& name, const std::string& text);
  // T is std::string, int, uint16_t to uint64_t, or a vector of std::string or uint32_t. The values
  // must outlive the parsing of the command line.
  template <typename T>
  Option AddOption(const std::string& name, T* value, const std::string& text);
  // `parse` is called for each word and returns what is wrong with it, or "".
  Option AddParsed(const std::string& name, std::function<std::string(const std::string&)> parse,
                   const std::string& text);
  Option AddFlag(const std::string& name, bool* value, const std::string& text);
  Option AddFlag(const std::string& name, std::function<void()> given, const std::string& text);
  void Footer(const std::string& text);
  // Called after the command line was parsed, if it has this verb.
  void Callback(std::function<void()> chosen);
  bool given(const std::string& option) const;

 private:
  CLI::App* app_;
  std::vector<std::unique_ptr<Verb>> verbs_;
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_VERB_H_
