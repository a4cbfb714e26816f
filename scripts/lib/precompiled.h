/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The includes of most C++ files, compiled once. Each file still includes what it uses: `make PCH=`
 * builds without this header.
 */
#ifndef SCRIPTS_LIB_PRECOMPILED_H_
#define SCRIPTS_LIB_PRECOMPILED_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "libtrace/proto/trace.pb.h"

#endif /* SCRIPTS_LIB_PRECOMPILED_H_ */
