#!/usr/bin/env python3
"""Files between two forwarders over UDP with the operating system's default socket buffers: how fast, and whether whole.

`weir put` publishes a file at one `weir forward`, `weir get` fetches it at another, on one host; nothing caches. Each scheme
gets it a number of times, in turns; then fixed windows, which show what the processors allow; and `ndnd put` and `ndnd cat` at the same
forwarders. With --forwarders ndnd the forwarders are ndnd's.

usage: fetch.py --weir target/release/weir [--ndnd PATH] [--runs 20] [--size 64] [--schemes bbr,cubic] [--windows 8,32]
                [--forwarders weir|ndnd] [--svg FILE] [--relay="--rate 1e6 --delay 300"]
"""

import argparse
import hashlib
import json
import os
import pathlib
import resource
import shlex
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

TICKS = os.sysconf("SC_CLK_TCK")
RELAY = pathlib.Path(__file__).resolve().parent.parent / "apps" / "relay.py"
NAME = "/movies/a"

WEIR = """
[faces.unix]
path = "{socket}"
[faces.udp]
listen = "127.0.0.1:{port}"
kernel_buffer = "0 B"
[faces.tcp]
listen = []
[tables]
content_store_packets = 0
"""
TOWARDS = """
[[face]]
name = "peer"
remote = "udp4://127.0.0.1:{port}"
[[route]]
prefix = "/"
face = "peer"
"""
NDND = """
core: {{log_level: ERROR}}
faces:
  udp: {{enabled_unicast: true, enabled_multicast: false, port_unicast: {port}}}
  tcp: {{enabled: false}}
  unix: {{enabled: true, socket_path: "{socket}"}}
  websocket: {{enabled: false}}
fw: {{threads: 2}}
tables:
  content_store: {{capacity: 0, admit: false, serve: false}}
"""


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def cpu_s(pid):
    """CPU time of a process, s."""
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def children_cpu_s():
    """CPU time of processes that have ended, s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def wait_until(what, condition):
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"in 60 s: not {what}")
        time.sleep(0.05)


class Path:
    """Two forwarders, and a publisher of the file at the second one."""

    def __init__(self, args, folder):
        self.args, self.folder, self.processes = args, folder, []
        self.file = folder / "file"
        content = os.urandom(args.size * 1_000_000)
        self.file.write_bytes(content)
        self.digest = hashlib.sha256(content).hexdigest()
        ports = [free_port(), free_port()]
        through = ports[1]
        if args.relay:
            through = free_port()
            self.start("relay", sys.executable, RELAY, through, ports[1], *shlex.split(args.relay))
        self.sockets = [folder / f"{number}.sock" for number in range(2)]
        begin = self.begin_weir if args.forwarders == "weir" else self.begin_ndnd
        self.forwarders = [begin(*of, number) for number, of in enumerate(zip(self.sockets, ports))]
        wait_until("the forwarders' sockets", lambda: all(path.exists() for path in self.sockets))
        self.weir("face", "create", f"udp4://127.0.0.1:{through}", socket=self.sockets[0])
        self.weir("route", "add", "/", f"udp4://127.0.0.1:{through}", socket=self.sockets[0])

    def begin_weir(self, socket, port, number):
        config = self.folder / f"{number}.toml"
        config.write_text(WEIR.format(socket=socket, port=port))
        return self.start(f"forwarder-{number}", self.args.weir, "forward", "--config", config)

    def begin_ndnd(self, socket, port, number):
        config = self.folder / f"{number}.yml"
        config.write_text(NDND.format(socket=socket, port=port))
        return self.start(f"forwarder-{number}", self.args.ndnd, "fw", "run", config)

    def start(self, label, *command, **options):
        log = (self.folder / f"{label}.log").open("wb")
        command = [str(part) for part in command]
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, **options)
        self.processes.append(process)
        return process

    def weir(self, *command, socket):
        command = [str(part) for part in (self.args.weir, *command, "--socket", f"unix://{socket}")]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def publish(self, tool):
        """Publishes the file with a tool. Returns its process."""
        environment = os.environ | {"NDN_CLIENT_TRANSPORT": f"unix://{self.sockets[1]}"}
        if tool == "weir":
            publisher = self.start("put", self.args.weir, "put", NAME, self.file, "--cache", "1 GB", env=environment)
            said = b"egistered"
        else:
            publisher = self.start("put", self.args.ndnd, "put", NAME, stdin=self.file.open("rb"), env=environment)
            said = b"egistered"
        wait_until("the prefix registered", lambda: said in (self.folder / "put.log").read_bytes())
        time.sleep(1)
        return publisher

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()

    def fetch(self, tool, publisher):
        """Fetches the file with `weir get` under a scheme, or with `ndnd cat`."""
        to = self.folder / "got"
        processes = [*self.forwarders, publisher]
        before, mine = [cpu_s(process.pid) for process in processes], children_cpu_s()
        begun = time.monotonic()
        ended, said = self.cat(to) if tool == "ndnd cat" else self.get(tool, to)
        took = time.monotonic() - begun
        used = [cpu_s(process.pid) - was for process, was in zip(processes, before)] + [children_cpu_s() - mine]
        is_whole = to.exists() and hashlib.sha256(to.read_bytes()).hexdigest() == self.digest
        to.unlink(missing_ok=True)
        if ended != 0 or not is_whole:
            return {"failed": said.strip().splitlines()[-1:] or ["nothing said"], "used": used}
        got = json.loads(said) if tool != "ndnd cat" else {}
        return {"mbps": 8 * self.args.size / took, "used": used, **got}

    def get(self, scheme, to):
        scheme, *parameter = scheme.split(":")
        command = [self.args.weir, "get", NAME, "-o", to, "--scheme", scheme, "--json"]
        command += ["--socket", f"unix://{self.sockets[0]}"]
        for value in parameter:
            command += ["--param", f"{scheme}.{value}"]
        run = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        return run.returncode, run.stdout if run.returncode == 0 else run.stderr

    def cat(self, to):
        environment = os.environ | {"NDN_CLIENT_TRANSPORT": f"unix://{self.sockets[0]}"}
        with to.open("wb") as out:
            run = subprocess.run([self.args.ndnd, "cat", NAME], stdout=out, stderr=subprocess.PIPE, env=environment)
        said = run.stderr.decode(errors="replace")
        # The exit code is 0 even after a failure.
        return run.returncode, said


def allowed_mbps(size, run):
    """The rate that the processors would allow if all were busy with these processes, Mb/s."""
    used = run["used"]
    return 8 * size / max(max(used), sum(used) / os.cpu_count())


def row(size, label, runs):
    whole = [run for run in runs if "failed" not in run]
    cells = [f"`{label}`", f"{len(whole)} of {len(runs)}"]
    if whole:
        rates = sorted(run["mbps"] for run in whole)
        share = statistics.median(run["mbps"] / allowed_mbps(size, run) for run in whole)
        cells += [f"{statistics.median(rates):.1f}", f"{rates[0]:.1f}", f"{rates[-1]:.1f}", f"{100 * share:.0f} %"]
        cells += [f"{statistics.median(sum(run['used']) for run in whole):.2f}"]
        again = [run["retransmitted"] for run in whole if "retransmitted" in run]
        cells += [f"{statistics.mean(again):.0f}" if again else ""]
    return "| " + " | ".join(cells) + " |"


def svg(of, title, key="mbps", axis="goodput, Mb/s", left=150):
    """Draws a dot for each run, at its value of `key`."""
    width, height, step = left + 490, 24 * len(of) + 70, 24
    most = max((run[key] for runs in of.values() for run in runs if key in run), default=1)
    unit = next(unit for unit in (0.1, 0.2, 1, 5, 10, 20, 50, 100, 200, 500, 1000) if most / unit <= 9)
    scale = (width - left - 20) / (unit * (most // unit + 1))
    parts = [f'<text x="{left}" y="16" font-weight="600">{title}</text>']
    for tick in range(int(most // unit) + 2):
        x = left + scale * unit * tick
        parts.append(f'<path d="M{x:.1f} 28V{height - 36}" stroke="#ddd"/>')
        parts.append(f'<text x="{x:.1f}" y="{height - 20}" text-anchor="middle">{unit * tick:g}</text>')
    parts.append(f'<text x="{width - 20}" y="{height - 4}" text-anchor="end">{axis}; × failed</text>')
    for place, (label, runs) in enumerate(of.items()):
        y = 28 + step * (place + 0.5)
        colour = "#c07000" if "ndn" in label else "#1f6fb4"
        parts.append(f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">{label}</text>')
        failed = sum("failed" in run for run in runs)
        parts += [f'<text x="{left + 4 + 10 * n}" y="{y + 4}" fill="#b00020">×</text>' for n in range(failed)]
        parts += [
            f'<circle cx="{left + scale * run[key]:.1f}" cy="{y}" r="4" fill="{colour}" fill-opacity="0.45"/>'
            for run in runs
            if key in run
        ]
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{title}" font-family="system-ui, sans-serif" font-size="12" fill="#333">\n'
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n{body}\n</svg>\n'
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--weir", required=True, help="the command weir")
    parser.add_argument("--ndnd", help="the command ndnd")
    parser.add_argument("--forwarders", choices=["weir", "ndnd"], default="weir")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--size", type=int, default=64, help="of the file, MB")
    parser.add_argument("--schemes", default="bbr,cubic,bic,reno,pcon,qsccp")
    parser.add_argument("--windows", default="8,16,32,64,128", help="of the scheme fixed, as yardsticks")
    parser.add_argument("--relay", help="options of tests/apps/relay.py, through which the link goes")
    parser.add_argument("--svg", type=pathlib.Path, help="where to draw each run")
    args = parser.parse_args()
    tools = [scheme for scheme in args.schemes.split(",") if scheme]
    tools += [f"fixed:window={window}" for window in args.windows.split(",") if window]
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(args, pathlib.Path(folder))
        try:
            for publisher, of in [("weir", tools), ("ndnd", ["ndnd cat"] if args.ndnd else [])]:
                process = path.publish(publisher) if of else None
                for turn in range(args.runs):
                    for tool in of:
                        run = path.fetch(tool, process)
                        results.setdefault(tool, []).append(run)
                        said = run.get("failed") or f"{run['mbps']:.1f} Mb/s"
                        print(f"{turn + 1} of {args.runs}: {tool}: {said}", file=sys.stderr)
                if process:
                    process.send_signal(signal.SIGTERM)
                    process.wait()
        finally:
            path.close()
    print("| | whole | median, Mb/s | least | most | of what the processors allow | CPU, s | sent again |")
    print("|---|---|---|---|---|---|---|---|")
    for label, runs in results.items():
        print(row(args.size, label, runs))
    if args.svg:
        title = f"{args.size} MB over two forwarders and UDP, {args.runs} runs each"
        args.svg.write_text(svg(results, title))


if __name__ == "__main__":
    main()
