// SPDX-License-Identifier: Apache-2.0
//
// main() of every unit-test binary, for either Catch2 generation. A run through a case that asserts
// nothing, in whichever of its sections, could not fail, so it fails here. (Catch2's own warning
// would require every section to assert, even one that only varies what its case asserts
// afterwards.)
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_session.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
using ListenerBase = Catch::EventListenerBase;
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
using ListenerBase = Catch::TestEventListenerBase;
#endif

#include <cstdio>
#include <string>

namespace {

int silent_runs = 0;

class SilentRuns : public ListenerBase {
 public:
  using ListenerBase::ListenerBase;

  void sectionStarting(const Catch::SectionInfo& info) override {
    ListenerBase::sectionStarting(info);
    path_ += (depth_ == 0 ? "" : " / ") + info.name;
    ++depth_;
  }

  // The outermost section is the run itself; it includes the assertions of the inner ones.
  void sectionEnded(const Catch::SectionStats& stats) override {
    ListenerBase::sectionEnded(stats);
    if (--depth_ > 0) return;
    if (stats.assertions.total() == 0) {
      ++silent_runs;
      std::fprintf(stderr, "asserts nothing: %s\n", path_.c_str());
    }
    path_.clear();
  }

 private:
  int depth_ = 0;
  std::string path_;
};
CATCH_REGISTER_LISTENER(SilentRuns)

}  // namespace

int main(int argc, char** argv) {
  const int status = Catch::Session().run(argc, argv);
  return status == 0 && silent_runs > 0 ? 1 : status;
}
