//! Namespaces around the whole lab, so that nothing of it can remain.
//!
//! ```text
//!   weir lab ----> keeper ----> inside: process 1 of its own PID namespace ----> forwarders, commands
//! ```
//!
//! The command runs itself two more times. The keeper creates new namespaces for processes, mounts, network and host
//! name, and runs in them the command that does the work. If the command is killed, the kernel kills the keeper, and
//! then the process inside (`PR_SET_PDEATHSIG`). When process 1 ends, the kernel kills all processes of the PID
//! namespace. Network namespaces, interfaces and the memory file system with the lab's files end with the last process
//! that uses them. So no cleanup is needed, and several labs do not interfere.
//!
//! A termination signal reaches only the command, or all three at once. Each process forwards it as SIGTERM until its
//! child has ended, and counts it once. Only the command accepts a second signal, and then kills the keeper.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::os::unix::process::{ExitStatusExt, parent_id};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::thread::sleep;
use std::time::Duration;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getegid, geteuid};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::error::LabError;
use crate::links::sys;

/// The environment variable that tells a process which of the three it is.
const STAGE: &str = "WEIR_LAB_STAGE";
/// The environment variable with the number of the descriptor of a listening socket from outside.
const LISTENER: &str = "WEIR_LAB_LISTENER";
/// Possible mount points of the lab's files: the first that is an empty folder outside, so that nothing is hidden.
const PLACES: [&str; 4] = ["/srv", "/media", "/mnt", "/opt"];
/// The mount point if none of these is empty.
const LAST_PLACE: &str = "/run";
/// Signals within this time count as one.
const ONE_SIGNAL: Duration = Duration::from_millis(100);
/// Interval of repeating SIGTERM. The process may not have been ready the first time.
const REMINDER: Duration = Duration::from_millis(20);
/// The exit code after two signals.
const INTERRUPTED: u8 = 130;

/// This program, and the arguments before those of the command.
#[derive(Clone, Debug)]
pub struct Program {
    executable: PathBuf,
    before: Vec<OsString>,
}

impl Program {
    /// The program of this process. Its command has this many arguments; before them are those of an interpreter.
    ///
    /// # Errors
    /// Returns an error if the operating system does not tell the program's path.
    pub fn current(arguments: usize) -> Result<Program, LabError> {
        let executable =
            std::env::current_exe().map_err(LabError::system("the program's own path is not known"))?;
        let mut all = std::env::args_os();
        // An interpreter finds its packages by the path with which it was called.
        let called = all.next().and_then(|name| path_of(Path::new(&name)));
        let is_this = |path: &PathBuf| fs::canonicalize(path).ok() == fs::canonicalize(&executable).ok();
        let executable = called.filter(is_this).unwrap_or(executable);
        let all: Vec<OsString> = all.collect();
        let before = all[..all.len().saturating_sub(arguments)].to_vec();
        Ok(Program { executable, before })
    }

    /// Creates a command that runs this program.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.executable);
        command.args(&self.before);
        command
    }
}

/// The absolute path of a program that was called with this name.
fn path_of(name: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 {
        return std::path::absolute(name).ok();
    }
    std::path::absolute(in_path(name)?).ok()
}

/// The first file with this name in the folders of PATH.
pub(crate) fn in_path(name: &Path) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Where this process runs.
#[derive(Debug)]
pub enum Place {
    /// Inside: it must do the work. The lab's files go to this folder.
    Inside(PathBuf),
    /// Outside: another process did the work and ended with this exit code.
    Outside(ExitCode),
}

/// The socket on which processes outside reach the process inside: of the command, which opens it with `open`, and in the
/// other two the same one. It belongs to the network outside. A process calls this once.
///
/// # Errors
/// Returns an error if it cannot be opened.
pub fn listener(open: impl FnOnce() -> io::Result<TcpListener>) -> io::Result<TcpListener> {
    match std::env::var(LISTENER).ok().and_then(|number| number.parse().ok()) {
        Some(number) if std::env::var_os(STAGE).is_some() => sys::inherited(number),
        _ => open(),
    }
}

/// Makes a command of the lab independent of it: it may start a lab of its own.
pub(crate) fn set_independent(command: &mut Command) {
    command.env_remove(STAGE).env_remove(LISTENER);
}

/// Runs this command again with these arguments in its own namespaces, unless this is the process inside. The processes
/// share a socket from [`listener`], if there is one.
///
/// # Errors
/// Returns an error if the system does not permit it. The message says what would help.
pub fn isolate(
    program: &Program,
    arguments: &[OsString],
    shared: Option<&TcpListener>,
) -> Result<Place, LabError> {
    let stage = std::env::var(STAGE).unwrap_or_default();
    let command = |stage: &str| {
        let mut command = program.command();
        command.args(arguments).env(STAGE, format!("{stage} {}", std::process::id()));
        command.env_remove(LISTENER);
        if let Some(socket) = shared {
            command.env(LISTENER, socket.as_raw_fd().to_string());
        }
        command
    };
    let pass_on = || {
        let set = shared.map_or(Ok(()), |socket| sys::set_inherited(socket, true));
        set.map_err(LabError::system("a socket cannot be passed to a process"))
    };
    match stage.split_once(' ') {
        None => {
            check()?;
            pass_on()?;
            attend(command("keeper"), true).map(Place::Outside)
        }
        Some(("keeper", parent)) => {
            end_with_parent()?;
            if parent_id().to_string() != parent {
                return Err(LabError::Invalid("the command of this lab has ended".to_owned()));
            }
            separate()?;
            pass_on()?;
            attend(command("inside"), false).map(Place::Outside)
        }
        Some((_, keeper)) => {
            end_with_parent()?;
            if !is_alive(keeper) {
                return Err(LabError::Invalid("the command of this lab has ended".to_owned()));
            }
            set_up_files().map(Place::Inside)
        }
    }
}

fn end_with_parent() -> Result<(), LabError> {
    let set = set_pdeathsig(Signal::SIGKILL);
    set.map_err(|error| LabError::system("a process cannot be made to end with its parent")(error.into()))
}

/// Returns whether a process of the surrounding PID namespace runs. `/proc` is still that of this namespace.
fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, after)| after);
    state.is_some_and(|state| !state.starts_with('Z') && !state.starts_with('X'))
}

/// The kinds of the lab's namespaces.
fn namespaces() -> CloneFlags {
    let all = CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWIPC;
    if geteuid().is_root() { all } else { all | CloneFlags::CLONE_NEWUSER }
}

/// Checks that namespaces can be created, before any process starts.
fn check() -> Result<(), LabError> {
    if Path::new("/proc/self/ns/net").exists() {
        return Ok(());
    }
    Err(LabError::Invalid("the lab needs Linux with network namespaces and /proc".to_owned()))
}

/// Creates the namespaces. Processes started later are in all of them.
fn separate() -> Result<(), LabError> {
    let (user, group) = (geteuid(), getegid());
    unshare(namespaces()).map_err(|error| {
        LabError::Invalid(format!(
            "the lab needs namespaces of its own, and the system does not permit them ({error}): run it as root, or permit user namespaces (sysctl user.max_user_namespaces and kernel.unprivileged_userns_clone, or kernel.apparmor_restrict_unprivileged_userns=0), or give the container the capability SYS_ADMIN"
        ))
    })?;
    if !user.is_root() {
        let map = |file: &str, text: String| {
            fs::write(file, text).map_err(LabError::system(format!("{file} cannot be written")))
        };
        map("/proc/self/setgroups", "deny".to_owned())?;
        map("/proc/self/uid_map", format!("0 {user} 1"))?;
        map("/proc/self/gid_map", format!("0 {group} 1"))?;
    }
    Ok(())
}

/// Makes the mounts private: later mounts are visible only inside.
fn set_up_files() -> Result<PathBuf, LabError> {
    let none: Option<&str> = None;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    let failed = |what: &str| LabError::system(what.to_owned());
    mount(none, "/", none, private, none)
        .map_err(|error| failed("mounts cannot be made private")(error.into()))?;
    let is_empty = |place: &&str| fs::read_dir(place).is_ok_and(|mut files| files.next().is_none());
    let place = PLACES.into_iter().find(is_empty).unwrap_or(LAST_PLACE);
    mount(Some("weir-lab"), place, Some("tmpfs"), MsFlags::empty(), Some("mode=0755"))
        .map_err(|error| failed("a memory file system cannot be mounted")(error.into()))?;
    // Process tools then find the lab's processes. If it is not permitted, they see those outside.
    let _ = mount(Some("proc"), "/proc", Some("proc"), MsFlags::empty(), none);
    let folder = Path::new(place).join("lab");
    fs::create_dir(&folder).map_err(failed("the lab's folder cannot be made"))?;
    Ok(folder)
}

/// Runs a process until it ends, and returns its exit code. A signal asks it to end. The outermost process kills it at
/// a second signal.
#[expect(clippy::disallowed_methods, reason = "a world waits for its processes")]
fn attend(mut command: Command, is_outermost: bool) -> Result<ExitCode, LabError> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGCHLD])
        .map_err(LabError::system("signals cannot be watched"))?;
    let mut child = command.spawn().map_err(LabError::system("the lab cannot be started"))?;
    let (mut asked, mut since) = (0, Duration::ZERO);
    loop {
        if let Some(status) = child.try_wait().map_err(LabError::system("the lab cannot be waited for"))? {
            return Ok(code_of(status));
        }
        let asks = |signal: &i32| *signal != SIGCHLD;
        if asked == 0 {
            asked += signals.wait().filter(asks).count();
            continue;
        }
        ask_to_end(&child);
        sleep(REMINDER);
        since += REMINDER;
        let again = signals.pending().filter(asks).count();
        // `timeout`, for example, sends a signal to the process and to its group. This is one signal.
        if since > ONE_SIGNAL {
            asked += again;
        }
        if is_outermost && asked > 1 {
            child.kill().and_then(|()| child.wait()).map_err(LabError::system("the lab cannot be ended"))?;
            return Ok(ExitCode::from(INTERRUPTED));
        }
    }
}

fn ask_to_end(child: &Child) {
    // The process may have ended already.
    let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM);
}

fn code_of(status: ExitStatus) -> ExitCode {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// Converts an error of the operating system.
impl From<nix::Error> for LabError {
    fn from(error: nix::Error) -> LabError {
        LabError::System { what: "the operating system".to_owned(), error: io::Error::from(error) }
    }
}
