//! The memory available to a process.

use std::fs;

use nix::sys::resource::{Resource, getrlimit};

/// Maximum memory of this process, bytes: the host's memory, or less if the control group (cgroup v2) or the address
/// space limit (`ulimit -v`) is lower. `None` if the kernel does not tell.
pub fn most_memory() -> Option<u64> {
    let host = host_memory(&fs::read_to_string("/proc/meminfo").ok()?)?;
    let address_space = getrlimit(Resource::RLIMIT_AS).map_or(u64::MAX, |(soft, _)| soft);
    Some(host.min(address_space).min(group_memory().unwrap_or(u64::MAX)))
}

/// Parses the host's memory, bytes, from `/proc/meminfo`, which counts in KiB.
fn host_memory(meminfo: &str) -> Option<u64> {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The lowest memory limit of the control group and its ancestors, bytes.
fn group_memory() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?.trim_matches('/').to_owned();
    let parents = path.match_indices('/').map(|(at, _)| &path[..at]);
    let limit = |group: &str| {
        let limit = fs::read_to_string(format!("/sys/fs/cgroup/{group}/memory.max")).ok()?;
        limit.trim().parse().ok()
    };
    parents.chain(["", &path]).filter_map(limit).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_the_host_is_what_the_kernel_says() {
        let meminfo = "MemTotal:       24684092 kB\nMemFree:        23100688 kB\n";
        assert_eq!(host_memory(meminfo), Some(24_684_092 * 1024));
        for other in ["", "MemTotal:\n", "MemTotal: much kB\n", "MemTotal: 99999999999999999999 kB\n"] {
            assert_eq!(host_memory(other), None);
        }
        assert!(most_memory().is_some_and(|most| most > 1 << 20));
    }
}
