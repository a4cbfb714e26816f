// SPDX-License-Identifier: Apache-2.0
//
// Values of a provider file: each function takes a text to the thing that it means, or says what is
// wrong with it and what would be right. Internal.
#ifndef LIBTRACE_PROVIDER_WORDS_H_
#define LIBTRACE_PROVIDER_WORDS_H_

#include <string>
#include <string_view>
#include <vector>

#include "libtrace/provider/provider.h"

namespace acceltrace::provider {

std::string_view Trim(std::string_view text);
std::vector<std::string_view> Words(std::string_view text, std::string_view separators = " \t,");
// In quotes, cut, without control characters.
std::string Quoted(std::string_view text);

// Letters, digits and _; of names in files also - and . in `more`.
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
// Relative, and without a way out of the folder that it is relative to.
Status CheckPath(std::string_view path);

}  // namespace acceltrace::provider

#endif  // LIBTRACE_PROVIDER_WORDS_H_
