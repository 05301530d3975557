//! Users of this host: who is at the other end of a Unix socket, and who has rights.

use std::collections::BTreeSet;
use std::os::fd::AsFd;

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::{self, Group};

/// The user and group of a process on this host, from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// User ID.
    pub uid: u32,
    /// ID of the process's group.
    pub gid: u32,
}

impl User {
    /// Returns the user who created the other end of a Unix socket, or `None` if the kernel does not tell.
    pub fn of_peer(socket: &impl AsFd) -> Option<User> {
        let peer = getsockopt(socket, PeerCredentials).ok()?;
        Some(User { uid: peer.uid(), gid: peer.gid() })
    }
}

/// Users and groups that have rights.
///
/// Members of groups are looked up once, so that a connecting peer need not wait for the system's user database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rights {
    users: BTreeSet<u32>,
    groups: BTreeSet<u32>,
}

impl Rights {
    /// Creates the rights of root and of the user who runs this process.
    pub fn own() -> Rights {
        Rights { users: [0, unistd::geteuid().as_raw()].into(), groups: BTreeSet::new() }
    }

    /// Adds a user, by name or number.
    ///
    /// # Errors
    /// Returns an error if there is no such user.
    pub fn add_user(&mut self, name: &str) -> Result<(), String> {
        let uid = name.parse().ok().or_else(|| uid_of(name));
        self.users.insert(uid.ok_or_else(|| format!("there is no user `{name}`"))?);
        Ok(())
    }

    /// Adds a group with its members, by name or number.
    ///
    /// # Errors
    /// Returns an error if there is no such group.
    pub fn add_group(&mut self, name: &str) -> Result<(), String> {
        let by_number = || Group::from_gid(name.parse::<u32>().ok()?.into()).ok().flatten();
        let group = Group::from_name(name).ok().flatten().or_else(by_number);
        let group = group.ok_or_else(|| format!("there is no group `{name}`"))?;
        self.users.extend(group.mem.iter().filter_map(|member| uid_of(member)));
        self.groups.insert(group.gid.as_raw());
        Ok(())
    }

    /// Returns whether a user has rights.
    pub fn has(&self, user: User) -> bool {
        self.users.contains(&user.uid) || self.groups.contains(&user.gid)
    }
}

fn uid_of(name: &str) -> Option<u32> {
    unistd::User::from_name(name).ok().flatten().map(|user| user.uid.as_raw())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn the_user_at_the_other_end_is_known_and_root_and_the_own_user_have_rights() {
        let (one, _other) = UnixStream::pair().unwrap();
        let own = User { uid: unistd::geteuid().as_raw(), gid: unistd::getegid().as_raw() };
        assert_eq!(User::of_peer(&one), Some(own));
        let mut rights = Rights::own();
        assert!(rights.has(own) && rights.has(User { uid: 0, gid: 0 }));
        let other = User { uid: 4_000_000_000, gid: 4_000_000_001 };
        assert!(!rights.has(other));
        rights.add_user("4000000000").unwrap();
        assert!(rights.has(other) && !rights.has(User { uid: 4_000_000_002, ..other }));
    }

    #[test]
    fn users_and_groups_are_found_by_name() {
        let mut rights = Rights::own();
        rights.add_group("root").unwrap();
        assert!(rights.has(User { uid: 4_000_000_000, gid: 0 }));
        rights.add_user("root").unwrap();
        assert_eq!(
            rights.add_user("nobody of this name").unwrap_err(),
            "there is no user `nobody of this name`"
        );
        assert_eq!(rights.add_group("no such group").unwrap_err(), "there is no group `no such group`");
    }
}
