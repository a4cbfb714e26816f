// SPDX-License-Identifier: Apache-2.0
//
// Parses the values in a provider file. Each function returns the parsed value, or says what is
// wrong and what would be right. Internal.
#ifndef LIBTRACE_PROVIDER_WORDS_H_
#define LIBTRACE_PROVIDER_WORDS_H_

#include <string>
#include <string_view>
#include <vector>

#include "libtrace/provider/provider.h"

namespace acceltrace::provider {

std::string_view Trim(std::string_view text);
std::vector<std::string_view> Words(std::string_view text, std::string_view separators = " \t,");
// Quotes a text for a message, shortened and without control characters.
std::string Quoted(std::string_view text);

// Returns true if the text has only letters, digits and _, and the characters in `more`, such as -
// and . for names in files.
bool IsName(std::string_view text, std::string_view more = "");
bool IsProviderName(std::string_view text);

Result<uint64_t> ParseNumber(std::string_view text);
Result<FieldRef> ParseField(std::string_view text);
Result<Condition> ParseCondition(std::string_view text);
Result<Bytes> ParseBytes(std::string_view text);
Result<KernelRange> ParseKernels(std::string_view text);
Result<ClassMatch> ParseClass(std::string_view text);
Result<PciMatch> ParsePciDevice(std::string_view text);
Result<Argument> ParseArgument(std::string_view text);
// Checks that the path is relative and does not leave its folder.
Status CheckPath(std::string_view path);

}  // namespace acceltrace::provider

#endif  // LIBTRACE_PROVIDER_WORDS_H_
