#!/usr/bin/env python3
"""CPU time of the forwarder for an exchange of Interest and Data, beside a bare relay of the same packets.

Three network namespaces: consumer, forwarder, producer. The load and the relay are ndnbench.c of the shared
tools; ndnd's forwarder is measured too if its binary is given. Runs are interleaved, so that a busy machine
disturbs all alike; what counts are the ratios. Weir is measured alone, under QSCCP and under Sluice, which is told no
rate, without a content store and with a full one that has no hits (`+store`). Then round-trip times of 1 kB at a steady rate: half of the
exchanges a second that weir has shown.

usage: forwarder.py --weir target/release/weir --latency target/release/examples/latency
                    --ndnbench ../shared/tools/ndnbench.c [--ndnd PATH] [--rounds 3]
"""
import argparse
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

PREFIX = "weirbench"
CONSUMER, FORWARDER, PRODUCER = (f"{PREFIX}-{name}" for name in ("c", "f", "p"))
FORWARDER_IP, PRODUCER_IP = "10.111.1.2", "10.111.2.1"
TICKS = os.sysconf("SC_CLK_TCK")
# Payload in bytes, window, and whether frames are at most 1400 bytes long.
CASES = [(1000, 64, False), (8000, 32, False), (8000, 32, True)]
# The rate of all faces under QSCCP.
RATE = "10 Gb/s"
# The variants of Weir: number of Data in the content store, scheme, and rate of the faces.
WEIR = {
    "weir": (0, "fixed", None),
    "weir+store": (4000, "fixed", None),
    "qsccp": (0, "qsccp", RATE),
    "qsccp+store": (4000, "qsccp", RATE),
    "sluice": (0, "sluice", None),
    "sluice+store": (4000, "sluice", None),
}


def sh(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def inside(namespace, *command, **options):
    return subprocess.Popen(["ip", "netns", "exec", namespace, *command], **options)


def set_up():
    tear_down()
    for namespace in (CONSUMER, FORWARDER, PRODUCER):
        sh("ip", "netns", "add", namespace)
        sh("ip", "-n", namespace, "link", "set", "lo", "up")
    for ours, peer, namespace, net in (("wbc", "wbf0", CONSUMER, 1), ("wbp", "wbf1", PRODUCER, 2)):
        sh("ip", "link", "add", ours, "netns", namespace, "type", "veth", "peer", "name", peer, "netns", FORWARDER)
        for where, device, host in ((namespace, ours, 1), (FORWARDER, peer, 2)):
            sh("ip", "-n", where, "addr", "add", f"10.111.{net}.{host}/24", "dev", device)
            sh("ip", "-n", where, "link", "set", device, "mtu", "9000", "up")


def tear_down():
    for namespace in (CONSUMER, FORWARDER, PRODUCER):
        subprocess.run(["ip", "netns", "del", namespace], stderr=subprocess.DEVNULL)


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_kb(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{pid}/status").read()).group(1))


def weir(args, folder, fragments, kind="weir"):
    store, scheme, rate = WEIR[kind]
    options = ('mtu = "1400 B"\n' if fragments else "") + (f'rate = "{rate}"\n' if rate else "")
    path = os.path.join(folder, "weir.toml")
    with open(path, "w") as file:
        file.write(
            f'[faces.unix]\npath = "{folder}/nfd.sock"\n[faces.tcp]\nlisten = []\n'
            f'[faces.udp]\nlisten = ["0.0.0.0:6363"]\n{options}'
            f'[[face]]\nname = "producer"\nremote = "udp4://{PRODUCER_IP}:7000"\n{options}'
            f'[[route]]\nprefix = "/b"\nface = "producer"\n[scheme]\nname = "{scheme}"\n'
            f'[tables]\ncontent_store_packets = {store}\n[log]\nlevel = "warn"\n'
        )
    return inside(FORWARDER, args.weir, "forward", "--config", path)


def relay(bench):
    command = [bench, "relay", FORWARDER_IP, "6363", PRODUCER_IP, "7000"]
    return inside(FORWARDER, *command, stderr=subprocess.DEVNULL)


def ndnd(args, folder, fragments):
    path, socket = os.path.join(folder, "ndnd.yml"), os.path.join(folder, "ndnd.sock")
    mtu = 1400 if fragments else 8800
    with open(path, "w") as file:
        file.write(
            "core: {log_level: ERROR}\nfaces:\n"
            f"  udp: {{enabled_unicast: true, enabled_multicast: false, port_unicast: 6363, default_mtu: {mtu}}}\n"
            f"  tcp: {{enabled: false}}\n  unix: {{enabled: true, socket_path: {socket}}}\n"
            "  websocket: {enabled: false}\nfw: {threads: 2}\n"
            "tables: {content_store: {capacity: 1}, rib: {readvertise_nlsr: false}}\n"
        )
    process = inside(FORWARDER, args.ndnd, "fw", "run", path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1.5)
    environment = dict(os.environ, NDN_CLIENT_TRANSPORT=f"unix://{socket}")
    route = ["fw", "route-add", "prefix=/b", f"mtu={mtu}", f"face=udp4://{PRODUCER_IP}:7000"]
    inside(FORWARDER, args.ndnd, *route, env=environment, stdout=subprocess.DEVNULL).wait()
    return process


def measure(start, bench, payload, window, fragments, seconds):
    """Processor time of the process that `start` starts, µs per exchange; its memory, kB; and Interests per second."""
    producer = [bench, "prod", PRODUCER_IP, "7000", str(payload)] + (["1400"] if fragments else [])
    producing = inside(PRODUCER, *producer, stderr=subprocess.DEVNULL)
    forwarding = start()
    time.sleep(0.7)
    before = cpu_seconds(forwarding.pid)
    load = [bench, "cons", FORWARDER_IP, "6363", str(seconds), str(window), str(payload)]
    said = inside(CONSUMER, *load, stdout=subprocess.PIPE, text=True).communicate()[0]
    spent, memory = cpu_seconds(forwarding.pid) - before, resident_kb(forwarding.pid)
    for process in (forwarding, producing):
        process.send_signal(signal.SIGTERM)
        process.wait()
    exchanges = int(re.search(r"\bdata=(\d+)", said).group(1))
    lost = int(re.search(r"\blost=(\d+)", said).group(1))
    if exchanges == 0:
        sys.exit(f"nothing came back: {said}")
    return spent * 1e6 / exchanges, memory, exchanges / seconds, lost


def round_trips(start, bench, latency, rate, seconds):
    """Median and 99th percentile of the round-trip time at a steady rate, µs; and the fraction answered."""
    producing = inside(PRODUCER, bench, "prod", PRODUCER_IP, "7000", "1000", stderr=subprocess.DEVNULL)
    forwarding = start()
    time.sleep(0.7)
    load = [latency, f"{FORWARDER_IP}:6363", "/b", str(rate), str(seconds)]
    said = inside(CONSUMER, *load, stdout=subprocess.PIPE, text=True).communicate()[0]
    for process in (forwarding, producing):
        process.send_signal(signal.SIGTERM)
        process.wait()
    said = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", said)}
    return said["p50_us"], said["p99_us"], said["answered"] / said["interests"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True, help="the binary")
    parser.add_argument("--latency", required=True, help="the example `latency` of weir-forwarder")
    parser.add_argument("--ndnbench", required=True, help="ndnbench.c")
    parser.add_argument("--ndnd", help="ndnd's binary; without it ndnd is left out")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--only", nargs="+", help="what is measured, such as weir sluice")
    args = parser.parse_args()
    for name, is_missing in (
        ("root", os.geteuid() != 0),
        ("ip", shutil.which("ip") is None),
        ("cc", shutil.which("cc") is None),
        (args.ndnbench, not os.path.exists(args.ndnbench)),
    ):
        if is_missing:
            return print(f"SKIP benchmark of the forwarder: it needs {name}")
    with tempfile.TemporaryDirectory() as folder:
        bench = os.path.join(folder, "ndnbench")
        sh("cc", "-O2", "-o", bench, args.ndnbench)
        try:
            set_up()
            print(f"{'payload':>8} {'frames':>8} {'':11} {'us/exchange':>12} {'of first':>9} {'memory':>9} {'exchanges/s':>12} {'lost':>6}")
            def starters(fragments):
                kinds = {"relay": lambda: relay(bench)}
                kinds |= {kind: lambda kind=kind: weir(args, folder, fragments, kind) for kind in WEIR}
                if args.ndnd:
                    kinds["ndnd"] = lambda: ndnd(args, folder, fragments)
                return {kind: start for kind, start in kinds.items() if kind in (args.only or kinds)}

            half = 0
            for payload, window, fragments in CASES:
                kinds = starters(fragments)
                runs = {kind: [] for kind in kinds}
                for _ in range(args.rounds):
                    for kind, start in kinds.items():
                        runs[kind].append(measure(start, bench, payload, window, fragments, args.seconds))
                if payload == 1000 and not args.only:
                    half = int(statistics.median(result[2] for result in runs["weir"]) / 2)
                for kind, results in runs.items():
                    cpu, memory, rate, lost = (statistics.median(column) for column in zip(*results))
                    base = next(iter(runs.values()))
                    ratios = [ours[0] / first[0] for ours, first in zip(results, base)]
                    frames = "1400 B" if fragments else "whole"
                    print(
                        f"{payload:>8} {frames:>8} {kind:11} {cpu:>12.2f} {statistics.median(ratios):>9.2f}"
                        f" {memory / 1024:>6.1f} MB {rate:>12.0f} {lost:>6.0f}",
                        flush=True,
                    )
            if args.only:
                return
            print(f"\n1000 B at {half} exchanges/s {'p50, us':>12} {'p99, us':>9} {'answered':>9}")
            for kind, start in starters(False).items():
                runs = [round_trips(start, bench, args.latency, half, args.seconds) for _ in range(args.rounds)]
                p50, p99, answered = (statistics.median(column) for column in zip(*runs))
                print(f"{kind:>28} {p50:>11.0f} {p99:>9.0f} {answered:>8.1%}", flush=True)
        finally:
            tear_down()


if __name__ == "__main__":
    main()
