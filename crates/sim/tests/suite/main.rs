//! The simulator on scenarios. All tests are one program, because linking takes long.

mod alone;
mod built_in;
mod common;
mod completion;
mod dead_next_hop;
mod determinism;
mod dpccp;
mod dumbbell_claims;
mod e2e_aqm;
mod hbhcm;
mod losses;
mod near_cache;
mod no_allocation;
mod path_schemes;
mod probes;
mod qsccp_dynamics;
mod qsccp_faults;
mod qsccp_protection;
mod queueing;
mod shared_medium;
mod shared_prefix;
mod simulated_cache;
mod strangers;
mod tcp_newreno;
mod threads;
mod wire_check;
