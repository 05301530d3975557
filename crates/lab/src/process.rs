//! Processes of the lab.

use std::fs::{self, File};
use std::io;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use crate::error::LabError;
use crate::isolation::set_independent;
use crate::links::prefer;
use crate::namespace::Namespace;

/// Maximum time until a process is ready. Assumed: the machine may be busy starting many others.
const PATIENCE: Duration = Duration::from_secs(30);
/// Interval at which it is checked.
const LOOK: Duration = Duration::from_millis(10);
/// Maximum time for a process to end after SIGTERM.
const FAREWELL: Duration = Duration::from_millis(500);
/// Number of log lines in an error.
const LINES: usize = 8;

/// A process in a namespace. Dropping it kills the process.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a command in a namespace. Its output goes to a file. Signals of the terminal do not reach it. A preferred
    /// process has priority over ordinary processes of this host, if permitted.
    ///
    /// # Errors
    /// Returns an error if the command does not exist.
    pub fn start(
        name: &str,
        mut command: Command,
        (namespace, is_preferred): (&Namespace, bool),
        log: &Path,
    ) -> Result<Process, LabError> {
        let spawn = || {
            if is_preferred {
                prefer();
            }
            set_independent(&mut command);
            let file = File::create(log)?;
            command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).process_group(0).spawn()
        };
        let child = namespace.within(spawn).map_err(LabError::system(format!("{name} cannot be started")))?;
        Ok(Process { name: name.to_owned(), child, log: log.to_owned() })
    }

    /// The process ID in the lab's PID namespace.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until a process listens on this Unix socket.
    ///
    /// # Errors
    /// Returns an error if the process has ended, or takes too long.
    pub fn wait_for(&mut self, socket: &Path) -> Result<(), LabError> {
        let mut waited = Duration::ZERO;
        while UnixStream::connect(socket).is_err() {
            self.check()?;
            if waited > PATIENCE {
                return Err(self.failed(format!("does not listen after {} s", PATIENCE.as_secs())));
            }
            nap();
            waited += LOOK;
        }
        Ok(())
    }

    /// Checks that the process runs.
    ///
    /// # Errors
    /// Returns an error if it has ended.
    pub fn check(&mut self) -> Result<(), LabError> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(self.failed(format!("has ended: {status}"))),
            Err(error) => Err(LabError::system(format!("{} cannot be waited for", self.name))(error)),
        }
    }

    /// Returns the exit status if it has ended.
    pub fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Asks the process and its children to end, and waits a moment.
    pub fn end(&mut self) {
        Process::end_all(&mut [self]);
    }

    /// The same for several processes at once.
    pub fn end_all(processes: &mut [&mut Process]) {
        for process in &mut *processes {
            let _ = killpg(Pid::from_raw(process.child.id() as i32), Signal::SIGTERM);
        }
        let mut waited = Duration::ZERO;
        while processes.iter_mut().any(|process| process.status().is_none()) && waited < FAREWELL {
            nap();
            waited += LOOK;
        }
        processes.iter_mut().for_each(|process| process.kill());
    }

    /// Sends a signal to the process.
    pub fn signal(&self, signal: Signal) {
        // An ended process needs no signal.
        let _ = kill(Pid::from_raw(self.child.id() as i32), signal);
    }

    /// Kills the process and its children, and waits for its end.
    pub fn kill(&mut self) {
        // It may have children.
        let _ = killpg(Pid::from_raw(self.child.id() as i32), Signal::SIGKILL);
        let _ = self.child.wait();
    }

    fn failed(&self, what: String) -> LabError {
        LabError::Process {
            name: self.name.clone(),
            what,
            said: last_lines(&self.log, LINES).unwrap_or_default(),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

#[expect(clippy::disallowed_methods, reason = "a process of the system is waited for")]
fn nap() {
    sleep(LOOK);
}

/// The last lines of a log.
pub(crate) fn last_lines(log: &Path, count: usize) -> io::Result<String> {
    let text = String::from_utf8_lossy(&fs::read(log)?).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    Ok(lines[lines.len().saturating_sub(count)..].join("\n"))
}
