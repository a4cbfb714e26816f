// SPDX-License-Identifier: Apache-2.0
//
// A verb of the command line and its options.
//
// CLI11 parses them. It is headers only, and ten seconds of each file that includes it; so verb.cc
// and main.cc do, and nobody else.
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

// Valid as long as its verb is. Each property returns the option, for the next one.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  // How help names its value; "": not at all.
  Option& TypeName(const std::string& name);
  Option& Required();
  // Of one word each time that it is given.
  Option& OneWord();
  // Given several times, all words count.
  Option& TakeAll();
  // A word holds several values with this between them.
  Option& Delimiter(char delimiter);
  Option& OneOf(const std::vector<std::string>& words);
  Option& Positive();
  Option& InRange(uint64_t least, uint64_t most);
  Option& InRange(int least, int most);
  // A number with k, kb, M, ...: of 1,000 or 1,024.
  Option& Size(bool of_1000);
  // A number with one of these units, which stand for factors; it is not left out.
  Option& Units(const std::vector<std::pair<std::string, uint64_t>>& units);
  // Help shows the value that it has now.
  Option& ShowDefault();
  Option& Excludes(const Option& other);
  // The heading in help that it stands under.
  Option& Group(const std::string& name);

 private:
  CLI::Option* option_;
};

class Verb {
 public:
  // Not owned: the whole command line, or a verb.
  explicit Verb(CLI::App* app) : app_(app) {}

  // Owned by this one.
  Verb* AddVerb(const std::string& name, const std::string& text);
  // T: std::string, int, uint16_t to uint64_t, or a vector of std::string or uint32_t. Values
  // outlive the parsing of the command line.
  template <typename T>
  Option AddOption(const std::string& name, T* value, const std::string& text);
  // parse returns what is wrong with a word, or "".
  Option AddParsed(const std::string& name, std::function<std::string(const std::string&)> parse,
                   const std::string& text);
  Option AddFlag(const std::string& name, bool* value, const std::string& text);
  Option AddFlag(const std::string& name, std::function<void()> given, const std::string& text);
  void Footer(const std::string& text);
  // When the command line was parsed and had this verb.
  void Callback(std::function<void()> chosen);
  bool given(const std::string& option) const;

 private:
  CLI::App* app_;
  std::vector<std::unique_ptr<Verb>> verbs_;
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_VERB_H_
