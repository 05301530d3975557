//! Foreign applications: commands instead of Weir's consumers and producers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, ExitStatus};

use weir_core::units::Time;
use weir_measure::FlowAccounts;

use crate::error::LabError;
use crate::namespace::Namespace;
use crate::network::{Node, plain};
use crate::process::{Process, last_lines};
use crate::traffic::{Command, Part, Run};

/// A command and its state.
struct Application<'a> {
    command: &'a Command<'a>,
    /// Name in messages.
    name: String,
    node: &'a Node,
    from: Time,
    to: Time,
    log: PathBuf,
    process: Option<Process>,
    /// Time and exit status, if it ended by itself.
    ended: Option<(Time, ExitStatus)>,
}

/// All commands of a run.
pub struct Applications<'a> {
    run: &'a Run<'a>,
    all: Vec<Application<'a>>,
}

impl<'a> Applications<'a> {
    /// Prepares these commands. Their output goes to files in `folder`.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created.
    pub fn new(
        run: &'a Run<'a>,
        commands: &'a [Command<'a>],
        nodes: &'a [Node],
        folder: &Path,
    ) -> Result<Applications<'a>, LabError> {
        if !commands.is_empty() {
            fs::create_dir_all(folder)
                .map_err(LabError::system(format!("{} cannot be made", folder.display())))?;
        }
        let scenario = run.experiment.scenario();
        let application = |command: &'a Command<'a>| {
            let node = &nodes[command.node.index()];
            let (name, file, from, to) = match command.flow {
                None => {
                    let number = command.node.index();
                    let file = format!("node-{number}-{}", plain(&node.name, 40));
                    (format!("node {}", node.name), file, None, None)
                }
                Some((id, place)) => {
                    let flow = &scenario.flows[id.index()];
                    let name = format!("flow {} of {}", flow.name, flow.prefix);
                    (name, format!("{}-{place}", plain(&flow.name, 40)), Some(flow.start), flow.stop)
                }
            };
            Application {
                command,
                name,
                node,
                from: from.map_or(Time::ZERO, |start| Time::ZERO + start),
                to: to.map_or(Time::NEVER, |stop| Time::ZERO + stop),
                log: folder.join(format!("{file}.log")),
                process: None,
                ended: None,
            }
        };
        Ok(Applications { run, all: commands.iter().map(application).collect() })
    }

    /// Starts the commands of nodes. They are producers, and must run before the run begins.
    ///
    /// # Errors
    /// Returns an error if a command cannot be started.
    pub fn start_producers(&mut self, namespaces: &[Namespace]) -> Result<(), LabError> {
        let mut producers = self.all.iter_mut().filter(|of| of.command.flow.is_none());
        producers.try_for_each(|of| of.start(self.run, namespaces))
    }

    /// Starts and stops due commands.
    ///
    /// # Errors
    /// Returns an error if a command cannot be started.
    pub fn follow(&mut self, now: Time, namespaces: &[Namespace]) -> Result<(), LabError> {
        for of in &mut self.all {
            if of.ended.is_some() || now < of.from {
                continue;
            }
            match &mut of.process {
                None if now < of.to => of.start(self.run, namespaces)?,
                None => {}
                Some(process) => {
                    of.ended = process.status().map(|status| (now, status));
                    if of.ended.is_none() && now >= of.to {
                        process.end();
                        of.process = None;
                        of.from = Time::NEVER;
                    }
                }
            }
        }
        Ok(())
    }

    /// Ends all commands. Returns the accounts of their flows, and a line about each.
    pub fn finish(mut self) -> (Option<Part>, Vec<String>) {
        let Applications { run, all } = &mut self;
        let now = run.now().min(run.ends_at());
        for of in all.iter_mut().filter(|of| of.ended.is_none()) {
            of.ended = of.process.as_mut().and_then(|process| process.status()).map(|status| (now, status));
        }
        let mut running: Vec<&mut Process> = all.iter_mut().filter_map(|of| of.process.as_mut()).collect();
        Process::end_all(&mut running);
        let flows = all.iter().filter_map(|of| Some((of.command.flow?.1, of.completed())));
        let (places, completed): (Vec<usize>, Vec<Option<Time>>) = flows.unzip();
        let mut notes: Vec<String> = all.iter().map(Application::note).collect();
        if places.is_empty() {
            return (None, notes);
        }
        notes.push(
            "For flows that are commands, only the completion is measured: their goodput and delay are 0 here."
                .to_owned(),
        );
        let infos = places.iter().map(|&place| run.flows[place].clone()).collect();
        let mut accounts = FlowAccounts::new(infos, &run.extent);
        for (flow, at) in completed.into_iter().enumerate() {
            at.into_iter().for_each(|at| accounts.set_complete(flow, at));
        }
        let end = run.ends_at();
        while accounts.next_step() < end {
            accounts.end_step();
        }
        accounts.end_at(end);
        accounts.end_step();
        (Some(Part { places, accounts, packets: 0, refused: 0 }), notes)
    }
}

impl Application<'_> {
    fn start(&mut self, run: &Run<'_>, namespaces: &[Namespace]) -> Result<(), LabError> {
        let mut shell = process::Command::new("/bin/sh");
        shell.arg("-c").arg(self.command.line);
        shell.env("NDN_CLIENT_TRANSPORT", format!("unix://{}", self.node.socket.display()));
        if let Some((flow, _)) = self.command.flow {
            shell.env("NDN_PREFIX", &run.experiment.scenario().flows[flow.index()].prefix);
        }
        let namespace = &namespaces[self.node.id.index()];
        self.process = Some(Process::start(&self.name, shell, (namespace, false), &self.log)?);
        Ok(())
    }

    fn completed(&self) -> Option<Time> {
        self.ended.filter(|(_, status)| status.success()).map(|(at, _)| at)
    }

    fn note(&self) -> String {
        let said = || {
            let text = last_lines(&self.log, 1).unwrap_or_default();
            if text.is_empty() { String::new() } else { format!("; its last output: {text}") }
        };
        let what = match self.ended {
            Some((at, status)) if status.success() => format!("ended well at {:.2} s", at.as_secs_f64()),
            Some((at, status)) => format!("failed at {:.2} s, {status}{}", at.as_secs_f64(), said()),
            None => "ran until it was stopped".to_owned(),
        };
        format!("The command of {} {what}.", self.name)
    }
}
