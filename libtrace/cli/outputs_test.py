#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Ways to name an output: no file is lost, no input changed, each refusal is one clear line."""

import os
import resource
import signal
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from output_area import ACCELTRACE, GOLDEN, VERBS, Area, mounted, tap  # noqa: E402

case = tap.Cases()

# The output is the input.


def input_as(name, make):
    """Adds a case: each verb refuses this name for its own input."""
    def test():
        with Area() as area:
            output = make(area)
            area.unchanged([lambda verb=verb: area.write_by(verb, output) for verb in VERBS],
                           "cannot write " + output, "same file as t.atrace", "another name")
    test.__name__ = "the input " + name
    case(test)


def linked(link, *target):
    def make(area):
        os.symlink(*target, area.at(link))
        return link
    return make


input_as("by its name", lambda area: "t.atrace")
input_as("by its whole path", lambda area: area.at("t.atrace"))
input_as("by a detour", lambda area: "./../" + os.path.basename(area.name) + "/t.atrace")
input_as("through a link", linked("link", "t.atrace"))
input_as("through a hard link", lambda area: os.link(area.at("t.atrace"), area.at("h")) or "h")


@case
def the_input_through_links_and_folders_that_are_links():
    with Area() as area:
        os.symlink("t.atrace", area.at("one"))
        os.symlink(area.at("one"), area.at("two"))
        os.symlink(".", area.at("here"))
        area.unchanged([lambda verb=verb: area.write_by(verb, "here/two") for verb in VERBS],
                       "same file as t.atrace")


@case
def the_input_as_an_open_descriptor():
    with Area() as area, open(area.at("t.atrace"), "r+b") as file:
        for form in ("/proc/self/fd/{}", "/dev/fd/{}"):
            name = form.format(file.fileno())
            area.unchanged([lambda verb=verb: area.write_by(verb, name, pass_fds=[file.fileno()])
                            for verb in ("perfetto", "html", "junit", "pack")],
                           "cannot write " + name, "same file as t.atrace")


@case
def the_input_is_stdout():
    with Area() as area:
        def way(verb, name):
            with open(area.at("t.atrace"), "ab") as out:
                return area.write_by(verb, name, stdout=out, stderr=subprocess.PIPE,
                                     capture_output=False)
        area.unchanged([lambda verb=verb, name=name: way(verb, name)
                        for verb in ("perfetto", "html", "junit", "pack")
                        for name in ("-", "/dev/stdout")], "t.atrace", "same file", status=2)


@case
def an_answer_is_not_printed_into_its_trace():
    with Area() as area:
        os.symlink("t.atrace", area.at("link"))

        def way(*words, **more):
            with open(area.at("t.atrace"), "ab") as out:
                return area.run(*words, stdout=out, stderr=subprocess.PIPE, capture_output=False,
                                **more)
        ways = [("report", "t.atrace"), ("verify", "link"), ("diff", "t.atrace", "t.atrace"),
                ("query", "t.atrace", "--csv", "SELECT 1"), ("check", "t.atrace", "losses == 0")]
        area.unchanged([lambda words=words: way(*words) for words in ways], "stdout", status=2)
        with open(area.at("t.atrace"), "rb") as trace:
            area.unchanged([lambda: way("report", "-", stdin=trace)], "stdin", status=2)


@case
def the_input_is_stdin():
    with Area() as area:
        def way(verb):
            with open(area.at("t.atrace"), "rb") as trace:
                return area.write_by(verb, "t.atrace", trace="-", stdin=trace)
        area.unchanged([lambda verb=verb: way(verb) for verb in ("chrome", "sqlite", "junit")],
                       "cannot write t.atrace", "stdin")


@case
def other_inputs_than_the_trace():
    with Area() as area:
        area.write("rules", b"losses >= 0\n")
        area.write("ceilings", b"{}")
        os.link(area.at("t.atrace"), area.at("base"))
        area.unchanged([
            lambda: area.run("check", "t.atrace", "rules", "--junit", "rules"),
            lambda: area.run("check", GOLDEN, "rules", "--baseline", "t.atrace", "--junit", "base"),
            lambda: area.run("html", "t.atrace", "--ceilings", "ceilings", "-o", "./ceilings"),
        ], "same file as ")


@case
def a_table_that_leads_to_the_input():
    with Area() as area:
        os.mkdir(area.at("tables"))
        area.write("tables/api.csv", b"of before")
        os.symlink("../t.atrace", area.at("tables/jobs.csv"))
        area.unchanged([lambda: area.run("export", "t.atrace", "--format", "csv", "-o", "tables")],
                       "tables/jobs.csv", "same file as t.atrace")


@case
def packed_in_its_place():
    with Area() as area:
        os.symlink("t.atrace", area.at("link"))
        os.chmod(area.at("t.atrace"), 0o640)
        assert area.run("pack", "link").returncode == 0
        assert os.readlink(area.at("link")) == "t.atrace"
        assert os.stat(area.at("t.atrace")).st_mode & 0o777 == 0o640
        assert os.path.getsize(area.at("t.atrace")) < os.path.getsize(GOLDEN)
        assert area.run("verify", "t.atrace").returncode == 0
        assert sorted(os.listdir(area.name)) == ["link", "t.atrace"]


# Where an output can be written.


def whole(area, name, verb):
    data = area.read(name)
    marks = {"sqlite": data.startswith(b"SQLite format 3"), "html": b"</html>" in data,
             "junit": b"</testsuite" in data, "chrome": data.rstrip().endswith((b"}", b"]"))}
    assert marks.get(verb, len(data) > 1000), (verb, data[:100])
    return data


@case
def a_new_file_has_the_mode_that_the_umask_leaves():
    with Area() as area:
        for verb in VERBS:
            assert area.write_by(verb, verb, umask=0o027).returncode == 0
            whole(area, verb, verb)
            assert os.stat(area.at(verb)).st_mode & 0o777 == 0o640, verb
        assert sorted(os.listdir(area.name)) == sorted([*VERBS, "t.atrace"])


@case
def what_is_replaced_hands_on_its_mode_and_stays_by_its_other_name():
    with Area() as area:
        area.write("old", b"of before")
        os.chmod(area.at("old"), 0o604)
        os.link(area.at("old"), area.at("other"))
        for verb in VERBS:
            assert area.write_by(verb, "old").returncode == 0
            whole(area, "old", verb)
            assert os.stat(area.at("old")).st_mode & 0o777 == 0o604, verb
            assert area.read("other") == b"of before"


@case
def a_link_stays_and_what_it_leads_to_is_replaced():
    with Area() as area:
        os.mkdir(area.at("far"))
        area.write("far/real", b"of before")
        os.symlink("far/real", area.at("one"))
        os.symlink(area.at("one"), area.at("two"))
        for verb in VERBS:
            assert area.write_by(verb, "two").returncode == 0
            assert os.path.islink(area.at("one")) and os.path.islink(area.at("two"))
            whole(area, "far/real", verb)
        assert os.listdir(area.at("far")) == ["real"]


@case
def a_link_to_nothing_yet():
    with Area() as area:
        os.symlink("new", area.at("link"))
        for verb in VERBS:
            assert area.write_by(verb, "link").returncode == 0
            whole(area, "new", verb)
            os.unlink(area.at("new"))
        os.symlink("nowhere/new", area.at("lost"))
        area.unchanged([lambda: area.write_by("chrome", "lost")], "cannot create lost", "nowhere")


@case
def links_in_a_circle():
    with Area() as area:
        os.symlink("a", area.at("b"))
        os.symlink("b", area.at("a"))
        area.unchanged([lambda verb=verb: area.write_by(verb, "a") for verb in VERBS],
                       "cannot write a", "symbolic links", "follow the link")


def not_there(name, texts, make=None):
    """Adds a case: each verb refuses this name."""
    def test():
        with Area() as area:
            if make is not None:
                make(area)
            output = name(area) if callable(name) else name
            area.unchanged([lambda verb=verb: area.write_by(verb, output) for verb in VERBS
                            if output or verb != "pack"], *texts)
    test.__name__ = "refused " + texts[0]
    case(test)


not_there("folder", ["that is a folder", "name a file in it"],
          lambda area: os.mkdir(area.at("folder")))
not_there("folder/", ["folder/: that is a folder"], lambda area: os.mkdir(area.at("folder")))
not_there("link", ["link: that is a folder"], lambda area: os.symlink(".", area.at("link")))
not_there("missing/", ["missing/: that is a folder"])
not_there("missing/x", ["no folder missing", "make it"])
not_there("t.atrace/x", ["t.atrace/x: Not a directory", "choose another place"])
not_there("t.atrace/", ["t.atrace/: Not a directory"])
not_there("n" * 256, ["File name too long", "choose another place"])
not_there("/proc/x", ["cannot create /proc/x"])
not_there("/proc/self/fd/77", ["cannot create /proc/self/fd/77"])
not_there("bad\nname/x", ["no folder bad"])


@case
def an_empty_name():
    with Area() as area:
        area.unchanged([lambda verb=verb: area.write_by(verb, "")
                        for verb in ("chrome", "sqlite", "html")], "empty")


@case
def names_as_long_as_names_may_be():
    with Area() as area:
        for verb in VERBS:
            name = (verb * 255)[:255]
            assert area.write_by(verb, name).returncode == 0
            assert area.write_by(verb, name).returncode == 0  # over the first one
            whole(area, name, verb)
        assert len(os.listdir(area.name)) == len(VERBS) + 1


@case
def names_that_look_like_something_else():
    with Area() as area:
        for name in ("-x", "--output", "a b", "line\nbreak", "\x1b[31m", "ü", "'\"$(x)",
                     "file:x?a"):
            for verb in VERBS:
                done = area.write_by(verb, name)
                assert done.returncode == 0, done
                assert b"\x1b" not in done.stderr and done.stderr.count(b"\n") <= 1, done
                whole(area, name, verb)
        # A dash means stdout; a path that ends in a dash is a file.
        done = area.write_by("junit", "./-")
        assert (done.returncode, whole(area, "-", "junit") != b"") == (0, True), done


@case
def devices_and_pipes_are_written_to_as_they_are():
    with Area() as area:
        os.mkfifo(area.at("fifo"))
        os.symlink("fifo", area.at("to-fifo"))
        for verb in ("perfetto", "chrome", "html", "junit", "pack"):
            assert area.write_by(verb, "/dev/null").returncode == 0
            area.refused(area.write_by(verb, "/dev/full"), "/dev/full", "No space left")
            with open(area.at("copy"), "wb") as copy, \
                    subprocess.Popen(["cat", area.at("fifo")], stdout=copy) as reader:
                assert area.write_by(verb, "to-fifo").returncode == 0
                reader.wait(timeout=60)
            whole(area, "copy", verb)
        assert stat.S_ISFIFO(os.stat(area.at("fifo")).st_mode)
        for name in ("/dev/null", "/dev/full", "/dev/stdout"):
            area.refused(area.write_by("sqlite", name), "no ordinary file")
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@case
def stdout_by_each_of_its_names():
    with Area() as area:
        for verb in ("chrome", "html", "junit", "pack"):
            texts = {area.write_by(verb, name).stdout
                     for name in ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")}
            assert len(texts) == 1 and len(texts.pop()) > 100, verb
        assert os.listdir(area.name) == ["t.atrace"]
        # Existing contents of a file must be kept.
        area.write("log", b"of before\n")
        for name in ("-", "/dev/stdout"):
            with open(area.at("log"), "ab") as log:
                done = area.write_by("junit", name, stdout=log, stderr=subprocess.PIPE,
                                     capture_output=False)
            assert done.returncode == 0, done
        text = area.read("log")
        assert text.startswith(b"of before\n") and text.count(b"</testsuites>") == 2, text


@case
def standard_descriptors_that_are_closed():
    with Area() as area:
        area.write("old", b"of before")
        for closed in ((0,), (1,), (2,), (0, 1, 2)):
            def shut(closed=closed):
                for fd in closed:
                    os.close(fd)
            done = area.write_by("chrome", "old", preexec_fn=shut)
            assert done.returncode == 0, (closed, done)
            whole(area, "old", "chrome")
            assert b"acceltrace" not in area.read("old")[-200:]
        area.refused(area.write_by("chrome", "-", preexec_fn=lambda: os.close(1)),
                     "not open for writing")
        assert sorted(os.listdir(area.name)) == ["old", "t.atrace"]


@case
def the_output_is_stdout_or_stderr_as_well():
    with Area() as area:
        area.write("log", b"of before")
        before = area.everything()
        with open(area.at("log"), "ab") as log:
            done = area.write_by("chrome", "log", stdout=log, stderr=subprocess.PIPE,
                                 capture_output=False)
            area.refused(done, "same file as stdout")
        with open(area.at("log"), "rb") as log:
            area.refused(area.write_by("chrome", "log", stdin=log), "same file as stdin")
        assert area.everything() == before


# Errors while writing.


@case
def no_more_than_a_file_may_have():
    with Area() as area:
        area.write("old", b"of before")

        def limit():
            # The signal has its default action, as in a shell; Python ignores it.
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        area.unchanged([lambda verb=verb, name=name: area.write_by(verb, name, preexec_fn=limit)
                        for verb in VERBS if verb != "junit" for name in ("old", "new")],
                       "cannot write", "File too large")
        area.unchanged([lambda: area.run("export", "t.atrace", "--format", "csv", "-o", "tables",
                                         preexec_fn=limit)], "cannot write", "File too large")


@case
def no_room():
    with Area() as area:
        script = f"""
printf 'of before' >m/old
for name in old new; do
  for verb in 'export --format chrome' 'export --format sqlite' html; do
    {ACCELTRACE} $verb t.atrace -o m/$name; echo $?
  done
done
cd m; ls -A; cat old"""
        done = mounted(area, "-o size=8k", "sh", "-c", script)
        assert done.stdout == b"1\n" * 6 + b"old\nof before", done
        lines = done.stderr.decode().splitlines()
        assert len(lines) == 6 and all("No space left on device" in line for line in lines), lines


@case
def a_file_system_that_is_read_only():
    with Area() as area:
        for verb in VERBS:
            before, after = VERBS[verb]
            done = mounted(area, "-o ro", ACCELTRACE, *before, "t.atrace", *after, "m/x")
            area.refused(done, "cannot create m/x", "Read-only file system")


@case
def a_file_that_is_mounted():
    with Area() as area:
        area.write("mine", b"of before")
        done = mounted(area, "", "sh", "-c", f"mount --bind mine mine && {ACCELTRACE} export "
                       "t.atrace --format chrome -o mine")
        area.refused(done, "cannot write mine", "mounted there")
        assert area.read("mine") == b"of before"


@case
def a_folder_or_a_file_that_may_not_be_written():
    if os.geteuid() == 0:
        raise tap.Skip("root may write everywhere")
    with Area() as area:
        os.mkdir(area.at("closed"), 0o555)
        area.write("kept", b"of before")
        os.chmod(area.at("kept"), 0o444)
        for name in ("closed/x", "kept"):
            area.unchanged([lambda verb=verb: area.write_by(verb, name) for verb in VERBS],
                           name, "Permission denied")


@case
def a_link_where_the_unfinished_one_would_be():
    with Area() as area:
        with subprocess.Popen([ACCELTRACE, *waiting("out")], stdin=subprocess.PIPE,
                              cwd=area.name) as first:
            part = unfinished(area)
            first.kill()
            first.communicate()
        os.unlink(area.at(part))
        area.write("victim", b"of before")
        os.symlink("victim", area.at(part))
        area.unchanged([lambda: area.write_by("chrome", "out")], part, "in the way", "remove it")


def waiting(output):
    """An export that waits for its input."""
    return ["export", "-", "--format", "chrome", "-o", output]


def unfinished(area):
    for _ in range(3000):
        parts = [name for name in os.listdir(area.name) if name.endswith(".part")]
        if parts:
            return parts[0]
        time.sleep(0.02)
    raise AssertionError("nothing was begun")


@case
def two_that_write_one_file():
    with Area() as area:
        area.write("out", b"of before")
        with subprocess.Popen([ACCELTRACE, *waiting("out")], stdin=subprocess.PIPE,
                              cwd=area.name) as first:
            unfinished(area)
            area.unchanged([lambda verb=verb: area.write_by(verb, "./out") for verb in VERBS],
                           "cannot write ./out", "another acceltrace is writing it")
            first.communicate(area.read("t.atrace"), timeout=60)
            assert first.returncode == 0
        whole(area, "out", "chrome")
        assert sorted(os.listdir(area.name)) == ["out", "t.atrace"]


@case
def one_that_is_ended_by_a_signal():
    with Area() as area:
        area.write("out", b"of before")
        before = area.everything()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with subprocess.Popen([ACCELTRACE, *waiting("out")], stdin=subprocess.PIPE,
                                  cwd=area.name) as first:
                unfinished(area)
                first.send_signal(number)
                assert first.wait(timeout=60) == -number
            assert area.everything() == before, number


@case
def one_that_was_killed_is_in_nobodys_way():
    with Area() as area:
        with subprocess.Popen([ACCELTRACE, *waiting("out")], stdin=subprocess.PIPE,
                              cwd=area.name) as first:
            unfinished(area)
            first.kill()
            first.wait(timeout=60)
        assert area.write_by("chrome", "out").returncode == 0
        whole(area, "out", "chrome")
        assert sorted(os.listdir(area.name)) == ["out", "t.atrace"]


@case
def a_trace_that_cannot_be_read_leaves_what_was_there():
    with Area() as area:
        area.write("bad", b"\0" * 4096)
        area.write("old", b"of before")
        for name in ("bad", "missing"):
            area.unchanged([lambda verb=verb: area.write_by(verb, "old", trace=name)
                            for verb in VERBS], name)


@case
def tables_are_replaced_all_or_none():
    with Area() as area:
        area.unchanged([lambda: area.run("export", "t.atrace", "--format", "csv", "-o", name)
                        for name in ("t.atrace", "/dev/null", "t.atrace/x")], "cannot create")
        os.mkdir(area.at("tables"))
        os.mkdir(area.at("tables/jobs.csv"))
        area.write("tables/api.csv", b"of before")
        area.unchanged([lambda: area.run("export", "t.atrace", "--format", "csv", "-o", "tables")],
                       "jobs.csv", "that is a folder")
        os.rmdir(area.at("tables/jobs.csv"))
        assert area.run("export", "t.atrace", "--format", "csv", "-o", "tables/").returncode == 0
        assert area.read("tables/api.csv") != b"of before"
        assert all(name.endswith(".csv") for name in os.listdir(area.at("tables")))


if __name__ == "__main__":
    sys.exit(tap.run(case))
