// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/verb.h"

#include <CLI/CLI.hpp>
#include <map>

namespace acceltrace::cli {

Option& Option::TypeName(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::Required() {
  option_->required();
  return *this;
}

Option& Option::OneWord() {
  option_->allow_extra_args(false);
  return *this;
}

Option& Option::TakeAll() {
  option_->expected(1)->take_all();
  return *this;
}

Option& Option::Once() {
  option_->expected(1)->allow_extra_args(false);
  return *this;
}

Option& Option::Delimiter(char delimiter) {
  option_->delimiter(delimiter);
  return *this;
}

Option& Option::OneOf(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}

Option& Option::Positive() {
  option_->check(CLI::PositiveNumber);
  return *this;
}

Option& Option::InRange(uint64_t least, uint64_t most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option& Option::InRange(int least, int most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option& Option::Size(bool of_1000) {
  option_->transform(CLI::AsSizeValue(of_1000));
  return *this;
}

Option& Option::Units(const std::vector<std::pair<std::string, uint64_t>>& units) {
  option_->transform(
      CLI::AsNumberWithUnit(std::map<std::string, uint64_t>(units.begin(), units.end()),
                            CLI::AsNumberWithUnit::UNIT_REQUIRED));
  return *this;
}

Option& Option::ShowDefault() {
  option_->capture_default_str();
  return *this;
}

Option& Option::Excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option& Option::Group(const std::string& name) {
  option_->group(name);
  return *this;
}

Verb* Verb::AddVerb(const std::string& name, const std::string& text) {
  verbs_.push_back(std::make_unique<Verb>(app_->add_subcommand(name, text)));
  return verbs_.back().get();
}

template <typename T>
Option Verb::AddOption(const std::string& name, T* value, const std::string& text) {
  return Option(app_->add_option(name, *value, text));
}
template Option Verb::AddOption(const std::string&, std::string*, const std::string&);
template Option Verb::AddOption(const std::string&, int*, const std::string&);
template Option Verb::AddOption(const std::string&, uint16_t*, const std::string&);
template Option Verb::AddOption(const std::string&, uint32_t*, const std::string&);
template Option Verb::AddOption(const std::string&, uint64_t*, const std::string&);
template Option Verb::AddOption(const std::string&, std::vector<std::string>*, const std::string&);
template Option Verb::AddOption(const std::string&, std::vector<uint32_t>*, const std::string&);

Option Verb::AddParsed(const std::string& name,
                       std::function<std::string(const std::string&)> parse,
                       const std::string& text) {
  const auto take = [parse = std::move(parse)](const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      const std::string wrong = parse(word);
      if (!wrong.empty()) throw CLI::ValidationError(wrong);
    }
  };
  return Option(app_->add_option_function<std::vector<std::string>>(name, take, text));
}

Option Verb::AddFlag(const std::string& name, bool* value, const std::string& text) {
  return Option(app_->add_flag(name, *value, text));
}

Option Verb::AddFlag(const std::string& name, std::function<void()> given,
                     const std::string& text) {
  return Option(app_->add_flag_callback(name, std::move(given), text));
}

void Verb::Footer(const std::string& text) { app_->footer(text); }

void Verb::Callback(std::function<void()> chosen) { app_->callback(std::move(chosen)); }

bool Verb::given(const std::string& option) const { return app_->count(option) > 0; }

}  // namespace acceltrace::cli
