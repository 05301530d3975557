//! `weir`: congestion control and quality of service for Named Data Networking.

use std::process::ExitCode;

fn main() -> ExitCode {
    weir_cli::main(std::env::args_os())
}
