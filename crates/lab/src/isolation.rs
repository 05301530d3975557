//! Namespaces around the whole lab, so that nothing of it can stay behind.
//!
//! ```text
//!   weir lab ----> keeper ----> inside: process 1 of its own PID namespace ----> forwarders, commands
//! ```
//!
//! The command runs itself twice more. The keeper makes new namespaces for processes, mounts, network and host name, and in
//! them runs the command that does the work. If the command is killed, the kernel kills the keeper, and then the process
//! inside (`PR_SET_PDEATHSIG`). With process 1 the kernel kills all processes of the PID namespace. Network namespaces,
//! interfaces and the memory file system with the lab's files end with the last process that uses them. So nothing has to be
//! cleaned up, and several labs do not meet.
//!
//! A signal that asks to end reaches the command alone, or all three at once. Each hands it on as SIGTERM until its child has
//! ended, and counts it once. Only the command takes a second one, and kills the keeper then.

use std::ffi::OsString;
use std::fs;
use std::io;
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

/// The environment variable that tells a process which of the three it is.
pub(crate) const STAGE: &str = "WEIR_LAB_STAGE";
/// Where the lab's files may be, inside: in the first of these that is an empty folder outside, so that nothing is hidden.
const PLACES: [&str; 4] = ["/srv", "/media", "/mnt", "/opt"];
/// Where they are if none is empty.
const LAST_PLACE: &str = "/run";
/// Signals within so long are one.
const ONE_SIGNAL: Duration = Duration::from_millis(100);
/// How often a process that is asked to end is asked again. It may not have been ready for the first time.
const REMINDER: Duration = Duration::from_millis(20);
/// The exit code of a command that two signals ended.
const INTERRUPTED: u8 = 130;

/// This program, and the arguments that come before those of the command.
#[derive(Clone, Debug)]
pub struct Program {
    executable: PathBuf,
    before: Vec<OsString>,
}

impl Program {
    /// The program of this process, whose command has so many arguments: before them are those of an interpreter.
    ///
    /// # Errors
    /// The operating system does not say where the program is.
    pub fn current(arguments: usize) -> Result<Program, LabError> {
        let executable =
            std::env::current_exe().map_err(LabError::system("the program's own path is not known"))?;
        let mut all = std::env::args_os();
        // An interpreter finds its packages by the path that it was called by.
        let called = all.next().and_then(|name| path_of(Path::new(&name)));
        let is_this = |path: &PathBuf| fs::canonicalize(path).ok() == fs::canonicalize(&executable).ok();
        let executable = called.filter(is_this).unwrap_or(executable);
        let all: Vec<OsString> = all.collect();
        let before = all[..all.len().saturating_sub(arguments)].to_vec();
        Ok(Program { executable, before })
    }

    /// A command of this program.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.executable);
        command.args(&self.before);
        command
    }
}

/// The absolute path of a program that was called by this name.
fn path_of(name: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 {
        return std::path::absolute(name).ok();
    }
    std::path::absolute(in_path(name)?).ok()
}

/// The first file of this name in the folders of PATH.
pub(crate) fn in_path(name: &Path) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Where this process is.
#[derive(Debug)]
pub enum Place {
    /// Inside: it is to do the work. Files of the lab go to this folder.
    Inside(PathBuf),
    /// Outside: the work was done by another process, which ended so.
    Outside(ExitCode),
}

/// Runs this command again in namespaces of its own, with these arguments, unless this is the process inside.
///
/// # Errors
/// The system does not permit it; the message says what does.
pub fn isolate(program: &Program, arguments: &[OsString]) -> Result<Place, LabError> {
    let stage = std::env::var(STAGE).unwrap_or_default();
    let command = |stage: &str| {
        let mut command = program.command();
        command.args(arguments).env(STAGE, format!("{stage} {}", std::process::id()));
        command
    };
    match stage.split_once(' ') {
        None => {
            check()?;
            attend(command("keeper"), true).map(Place::Outside)
        }
        Some(("keeper", parent)) => {
            end_with_parent()?;
            if parent_id().to_string() != parent {
                return Err(LabError::Invalid("the command of this lab has ended".to_owned()));
            }
            separate()?;
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

/// Whether a process of the surrounding PID namespace runs; `/proc` is still that of this namespace.
fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, after)| after);
    state.is_some_and(|state| !state.starts_with('Z') && !state.starts_with('X'))
}

/// What the lab's namespaces are.
fn namespaces() -> CloneFlags {
    let all = CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWIPC;
    if geteuid().is_root() { all } else { all | CloneFlags::CLONE_NEWUSER }
}

/// Whether namespaces can be made, before any process is started.
fn check() -> Result<(), LabError> {
    if Path::new("/proc/self/ns/net").exists() {
        return Ok(());
    }
    Err(LabError::Invalid("the lab needs Linux with network namespaces and /proc".to_owned()))
}

/// Makes the namespaces; processes that are started from now on are in all of them.
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

/// Mounts of our own: what is mounted from now on is seen inside alone.
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
    // Tools that look for processes find those of the lab. Where it is not permitted they see those outside.
    let _ = mount(Some("proc"), "/proc", Some("proc"), MsFlags::empty(), none);
    let folder = Path::new(place).join("lab");
    fs::create_dir(&folder).map_err(failed("the lab's folder cannot be made"))?;
    Ok(folder)
}

/// Runs a process until it ends, and asks it to end when a signal asks; how it ended. The outermost one is killed at a second
/// signal.
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
        // `timeout`, for example, sends a signal to the process and to its group: that is one.
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
    // It may have ended already.
    let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM);
}

fn code_of(status: ExitStatus) -> ExitCode {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// What the operating system says when something of the lab fails, as an error of the standard library.
impl From<nix::Error> for LabError {
    fn from(error: nix::Error) -> LabError {
        LabError::System { what: "the operating system".to_owned(), error: io::Error::from(error) }
    }
}
