"""Permissions for a lab, and errors before it starts."""

import subprocess
import unittest

from command import OnThisMachine, why_not


class Refused(OnThisMachine):
    """A mistake is reported before anything is created."""

    def refused(self, said, *words, code=2):
        running = self.start(*words)
        self.assertEqual(running.end(), code)
        self.assertIn(said, running.said.read_text())
        self.assertFalse(running.out.exists())
        self.assert_nothing_is_left(running)

    def test_what_is_not_there(self):
        file = self.file(1)
        self.refused("there is no scenario", "nothing.toml")
        self.refused("did you mean `qsccp`", file, "--scheme", "qscp")
        self.refused("did you mean", file, "--set", "link.R1-R2.rte=1 Mb/s")
        self.refused("there is no such link", file, "--capture", "R1-R3")
        self.refused("there is no such node", file, "--shell", "R9")

    def test_a_medium(self):
        self.refused("no shared media", "qsccp/multiaccess")

    def test_a_user_without_rights_has_a_lab(self):
        if why := why_not(as_nobody=True):
            self.skipTest(why)
        running = self.start(self.file(1, flows=2, duration="1500 ms"), as_nobody=True)
        self.assertEqual(running.end(), 0, running.said.read_text())
        self.assertTrue(all(flow["goodput_bps"] > 0 for flow in running.document()["flows"]))
        self.assert_nothing_is_left(running)

    def test_a_user_without_namespaces_is_told_what_permits_them(self):
        limit = ["unshare", "--user", "--map-root-user", "sh", "-c", 'echo 0 >/proc/sys/user/max_net_namespaces; exec "$@"', "sh"]
        if subprocess.run([*limit, "true"], capture_output=True, check=False).returncode:
            self.skipTest("no user namespaces")
        running = self.start(self.file(1), before=limit)
        self.assertEqual(running.end(), 2)
        self.assertIn("the system does not permit them", running.said.read_text())
        self.assert_nothing_is_left(running)


if __name__ == "__main__":
    unittest.main(verbosity=2)
