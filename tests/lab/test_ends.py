"""A lab leaves nothing on this machine, however it ends."""

import json
import os
import pathlib
import re
import signal
import time
import unittest
import urllib.request

from command import OnThisMachine, signal_alone, signal_group, wait_for, why_not

NODES = 6


class Killed(OnThisMachine):
    """The command is killed, in each of its phases."""

    def killed(self, when, *words, duration="2 s", **options):
        running = self.start(self.file(2, duration=duration), *words, **options)
        when(running)
        self.assertIsNone(running.process.poll(), running.said.read_text())
        running.kill()
        self.assert_nothing_is_left(running)

    def test_at_once(self):
        self.killed(lambda running: None)

    def test_before_it_has_namespaces(self):
        self.killed(lambda running: wait_for("the keeper", lambda: len(running.processes()) > 1))

    def test_while_it_makes_namespaces(self):
        self.killed(lambda running: wait_for("the process inside", lambda: len(running.processes()) > 2))

    def test_while_forwarders_start(self):
        self.killed(lambda running: wait_for("a forwarder", running.forwarders))

    @staticmethod
    def until_flows_run(running):
        wait_for("all forwarders", lambda: len(running.forwarders()) == NODES)
        time.sleep(1)

    def test_while_flows_run(self):
        self.killed(self.until_flows_run, duration="60 s")

    def test_while_flows_run_as_a_user_without_rights(self):
        if why := why_not(as_nobody=True):
            self.skipTest(why)
        self.killed(self.until_flows_run, duration="60 s", as_nobody=True)

    def test_the_keeper_is_killed(self):
        running = self.start(self.file(2, duration="60 s"))
        self.until_flows_run(running)
        keeper = min(number for number in running.processes() if number != running.process.pid)
        os.kill(keeper, signal.SIGKILL)
        self.assertEqual(running.end(), 128 + signal.SIGKILL)
        self.assert_nothing_is_left(running)

    def test_while_it_keeps_the_network(self):
        kept = lambda running: wait_for("the network to be kept", lambda: running.says("is kept"))
        self.killed(kept, "--keep", duration="500 ms")

    def test_while_it_writes_its_results(self):
        written = lambda running: wait_for("results", lambda: list(running.out.glob("*.*")))
        self.killed(written, duration="500 ms")


class Asked(OnThisMachine):
    """A signal asks it to end: it ends early, with what was measured so far."""

    def asked(self, send, number, *words, when=Killed.until_flows_run, duration="60 s", end=(0.5, 20), **options):
        running = self.start(self.file(2, duration=duration), *words, **options)
        when(running)
        send(running.process, number)
        asked_at = time.monotonic()
        self.assertEqual(running.end(), 0, running.said.read_text())
        self.assertLess(time.monotonic() - asked_at, 5)
        measured = running.document()
        self.assertTrue(end[0] <= measured["simulated_s"] <= end[1], measured["simulated_s"])
        self.assert_nothing_is_left(running)
        return measured

    def test_by_an_interrupt_of_the_terminal(self):
        measured = self.asked(signal_group, signal.SIGINT)
        self.assertTrue(all(flow["goodput_bps"] > 0 for flow in measured["flows"]))

    def test_by_an_interrupt_of_the_command_alone(self):
        self.asked(signal_alone, signal.SIGINT)

    def test_by_sigterm_of_the_group(self):
        self.asked(signal_group, signal.SIGTERM)

    def test_by_sigterm_of_the_command_alone(self):
        self.asked(signal_alone, signal.SIGTERM)

    def test_while_it_begins(self):
        begun = lambda running: wait_for("the process inside", lambda: len(running.processes()) > 2)
        self.asked(signal_group, signal.SIGINT, when=begun, end=(0, 2))

    def test_while_it_keeps_the_network(self):
        kept = lambda running: wait_for("the network to be kept", lambda: running.says("is kept"))
        self.asked(signal_alone, signal.SIGTERM, "--keep", when=kept, duration="500 ms", end=(0.5, 0.5))

    def test_while_a_shell_is_open(self):
        shell = self.folder / "scenario.sh"
        shell.write_text("#!/bin/sh\nsleep 60\n")
        shell.chmod(0o755)
        over = lambda running: wait_for("results", lambda: (running.out / "run.json").exists())
        options = {"when": over, "duration": "500 ms", "end": (0.5, 0.5), "environment": {"SHELL": str(shell)}}
        self.asked(signal_alone, signal.SIGTERM, "--shell", "C1", **options)

    def test_while_its_page_is_open(self):
        progress = []

        def page_grows(running):
            Killed.until_flows_run(running)
            said = wait_for("the address", lambda: re.search(r"http://[\d.:]+/", running.said.read_text()))

            def has_grown():
                with urllib.request.urlopen(said.group() + "data.json") as answer:
                    page = json.load(answer)
                progress.append(page["progress"]["now_s"])
                delivers = any(flow["goodput_bps"] > 0 for flow in page["document"]["flows"])
                used = max(link["utilisation"] for link in page["document"]["links"])
                return delivers and used > 0.1 and progress[-1] > progress[0]

            wait_for("a page that grows", has_grown)
            # The command and the process inside have its socket. The forwarders do not.
            port = int(said.group().rstrip("/").rsplit(":", 1)[1])
            sockets = (line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:])
            listens = lambda words: words[1].endswith(f":{port:04X}") and words[3] == "0A"
            (own,) = [f"socket:[{words[9]}]" for words in sockets if listens(words)]
            files = lambda number: {os.readlink(file) for file in pathlib.Path(f"/proc/{number}/fd").iterdir()}
            self.assertIn(own, files(running.process.pid))
            forwarders = [number for number, words in running.processes().items() if "forward" in words]
            self.assertEqual(len(forwarders), NODES)
            self.assertFalse([number for number in forwarders if own in files(number)])

        self.asked(signal_alone, signal.SIGINT, "--watch", when=page_grows)
        self.assertLess(max(progress), 60)

    def test_a_second_interrupt_ends_it_at_once(self):
        running = self.start(self.file(2, duration="60 s"))
        Killed.until_flows_run(running)
        keeper = min(number for number in running.processes() if number != running.process.pid)
        # So that it does not end at the first signal.
        os.kill(keeper, signal.SIGSTOP)
        running.process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        running.process.send_signal(signal.SIGINT)
        self.assertEqual(running.end(), 130)
        self.assert_nothing_is_left(running)


if __name__ == "__main__":
    unittest.main(verbosity=2)
