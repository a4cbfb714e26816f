// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/tables/container.h"

#include <string>

#include "libtrace/model/part/select.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::model {
namespace {

const std::string kId = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const std::string kOther = "0123feedbeef0123456789abcdef0123456789abcdef0123456789abcdef0123";

TEST_CASE("A control group's path tells the container, as each runtime writes it") {
  const std::string pod = "pod8e9f4a4c-1b7e-4c8b-9d0a-0f3c1f0e6a55";
  const std::string slices = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-" + pod;
  for (const std::string& path : {
           "/docker/" + kId,
           "/system.slice/docker-" + kId + ".scope",
           "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" + kId + ".scope",
           "/docker/" + kId + "/system.slice/sshd.service",
           "/some-parent/" + kId,
           "/machine.slice/libpod-" + kId + ".scope",
           "/machine.slice/libpod-" + kId + ".scope/container",
           "/machine.slice/libpod-" + kId + ".scope/container/init.scope",
           "/libpod_parent/libpod-" + kId,
           "/system.slice/web.service/libpod-payload-" + kId,
           "/system.slice/cri-containerd-" + kId + ".scope",
           "/kubepods/besteffort/" + pod + "/" + kId,
           slices + ".slice/cri-containerd-" + kId + ".scope",
           slices + ".slice/docker-" + kId + ".scope",
           slices + ".slice/crio-" + kId + ".scope",
           "/kubepods/" + pod + "/crio-" + kId,
           "/system.slice/containerd.service/kubepods-" + pod + ".slice:cri-containerd:" + kId,
           "/default/" + kId,
           "/system.slice/nerdctl-" + kId + ".scope",
           "/../../" + kId,
           "/docker/" + kId + " (deleted)",
           // The innermost container counts.
           "/docker/" + kOther + "/docker/" + kId,
           "/docker/" + kOther + "/kubelet/kubepods/" + pod + "/" + kId,
           "/lxc.payload.host/system.slice/docker-" + kId + ".scope",
           // The runtime's own processes, inside a container.
           "/docker/" + kId + "/machine.slice/libpod-conmon-" + kOther + ".scope",
       }) {
    INFO(path);
    CHECK(ContainerOf(path) == kId);
  }
}

TEST_CASE("A container without an id is known by its name") {
  const std::pair<const char*, const char*> cases[] = {
      {"/lxc.payload.web", "web"},
      {"/lxc.payload.my.web-1/init.scope", "my.web-1"},
      {"/lxc.payload/web/user.slice", "web"},
      {"/lxc/web", "web"},
      {"/lxc/100/ns/init.scope", "100"},
      {"/lxc/outer/lxc/inner", "inner"},
      {"/machine.slice/machine-web.scope", "web"},
      {"/machine.slice/machine-my\\x2dweb\\x2d1.scope/payload/init.scope", "my-web-1"},
      {"/machine.slice/machine-lxc\\x2d17\\x2dweb.scope", "lxc-17-web"},
      {"/machine.slice/systemd-nspawn@web.service", "web"},
      {"/machine.slice/systemd-nspawn@my\\x2dweb.service/payload", "my-web"},
      // An escape that is not valid in a machine's name is kept.
      {"/machine.slice/machine-a\\x1b\\x.scope", "a\\x1b\\x"},
  };
  for (const auto& [path, name] : cases) {
    INFO(path);
    CHECK(ContainerOf(path) == name);
  }
}

TEST_CASE("Other control groups are of no container") {
  for (const std::string& path : {
           std::string(),
           std::string("/"),
           std::string("//"),
           std::string("/init.scope"),
           std::string("/user.slice/user-1000.slice/session-3.scope"),
           std::string("/system.slice/docker.service"),
           std::string("/lxc"),
           std::string("/lxc/"),
           std::string("/lxc.payload."),
           std::string("/docker/web"),
           std::string("/lxc.monitor.web"),
           std::string("/lxc.monitor/web"),
           std::string("/machine.slice/machine-qemu\\x2d3\\x2dweb.scope/libvirt/emulator"),
           std::string("/machine.slice/systemd-nspawn@web.service/supervisor"),
           std::string("/machine.slice/machine-.scope"),
           std::string("/kubepods/besteffort/pod8e9f4a4c-1b7e-4c8b-9d0a-0f3c1f0e6a55"),
           "/machine.slice/libpod-conmon-" + kId + ".scope",
           "/system.slice/crio-conmon-" + kId + ".scope",
           "/system.slice/docker-" + kId + "0.scope",
           "/docker/" + kId.substr(1),
           "/machine.slice/libpod_pod_" + kId + ".slice",
       }) {
    INFO(path);
    CHECK(ContainerOf(path).empty());
  }
}

TEST_CASE("A table shows the begin of an id, and all of a name") {
  CHECK(ShortContainer(kId) == "0123456789ab");
  CHECK(ShortContainer("my-web-server-of-old") == "my-web-server-of-old");
  CHECK(ShortContainer("").empty());
}

// Process 100 was in one container and then in none; 200 in two; 300 in one with a name; 400 in
// none.
std::unique_ptr<Model> SomeContainers() {
  test::TraceBuilder builder;
  builder.AddDevice();
  for (uint32_t n = 1; n <= 4; ++n) {
    const int64_t at = 10'000'000 + int64_t{n} * 50'000;
    builder.AddApi("Launch", n * 100, n, at, at + 1'000);
  }
  builder.AddGroup(100, 9'000'000, "/docker/" + kId);
  builder.AddGroup(100, 9'500'000, "/user.slice");
  builder.AddGroup(200, 9'000'000, "/docker/" + kId);
  builder.AddGroup(200, 9'600'000, "/system.slice/docker-" + kOther + ".scope");
  builder.AddGroup(300, 9'000'000, "/lxc.payload.web");
  builder.AddGroup(400, 9'000'000, "/user.slice");
  return builder.Model();
}

struct Chosen {
  std::string error;
  std::vector<uint32_t> pids;  // of calls
  size_t groups = 0;           // rows
  bool operator==(const Chosen&) const = default;
};

Chosen Choose(std::vector<std::string> containers, std::vector<std::string> processes = {},
              std::unique_ptr<Model> model = SomeContainers()) {
  Selection selection;
  selection.containers = std::move(containers), selection.processes = std::move(processes);
  Chosen chosen;
  chosen.error = Select(selection, model.get()).message();
  for (size_t i = 0; i < model->api.size(); ++i) chosen.pids.push_back(model->api.pid[i]);
  chosen.groups = model->system.groups.size();
  return chosen;
}

TEST_CASE("A container chooses the processes that ever were in it") {
  CHECK(Choose({kId}) == Chosen{"", {100, 200}, 4});
  CHECK(Choose({"01234"}) == Chosen{"", {100, 200}, 4});
  CHECK(Choose({kOther.substr(0, 12)}) == Chosen{"", {200}, 2});
  CHECK(Choose({"web"}) == Chosen{"", {300}, 1});
  CHECK(Choose({"web", "01234"}) == Chosen{"", {100, 200, 300}, 5});
  CHECK(Choose({"01234"}, {"200", "300"}) == Chosen{"", {200}, 2});
  auto model = SomeContainers();
  Selection selection;
  selection.containers = {"01234", "web"};
  REQUIRE(Select(selection, model.get()).ok());
  CHECK(model->cut.text == "container 01234, container web");
  CHECK(model->cut.by_job);
}

TEST_CASE("A container that is not there is an error that says which are") {
  const std::string all = "; there are: 0123456789ab, 0123feedbeef, web";
  CHECK(Choose({"feed"}).error == "no such container as feed in the trace" + all);
  CHECK(Choose({"we"}).error == "no such container as we in the trace" + all);
  // Too few digits for an id.
  CHECK(Choose({"012"}).error == "no such container as 012 in the trace" + all);
  CHECK(Choose({"web"}, {"200"}).error ==
        "no such container as web in the trace; there are: 0123456789ab, 0123feedbeef");
  CHECK(Choose({"0123"}).error ==
        "container 0123 may be any of: " + kId + ", " + kOther + "; give more of its id");
  test::TraceBuilder builder;
  builder.AddApi("Launch", 100, 1, 10'000'000, 10'001'000);
  CHECK(Choose({"web"}, {}, builder.Model()).error ==
        "no such container as web in the trace, which has no control groups: record with "
        "--sources cgroup");
  builder.AddGroup(100, 9'000'000, "/user.slice");
  CHECK(Choose({"web"}, {}, builder.Model()).error ==
        "no such container as web in the trace; there are: none");
}

}  // namespace
}  // namespace acceltrace::model
