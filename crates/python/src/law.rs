//! Window laws written in Python: each event takes the interpreter's lock and calls a method.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::PyClass;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use weir_core::seam::params::Value;
use weir_core::seam::{DataReceived, FlowConfig, LossEvent, SendEvent};
use weir_core::units::{Rate, Span, Time};
use weir_schemes::{LARGEST_WINDOW, Resolved, Sign, WindowLaw, own_law};

use crate::errors::SchemeError;

/// The flow that a law controls.
#[pyclass(frozen, get_all, module = "weir")]
pub struct Flow {
    /// The service class: `EF`, `AF3`, `AF2`, `AF1` or `BE`.
    class_name: String,
    /// Expected size of a Data, bytes; 0 if the application does not know it.
    expected_size_bytes: u64,
    /// Lifetime of the Interests, s.
    lifetime_s: f64,
}

/// A Data arrived at its consumer.
#[pyclass(module = "weir")]
pub struct Data {
    /// Arrival time, s.
    #[pyo3(get)]
    now_s: f64,
    /// Segment number.
    #[pyo3(get)]
    segment: u64,
    /// Round-trip time, s; `None` if the Interest was sent more than once.
    #[pyo3(get)]
    rtt_s: Option<f64>,
    /// Smoothed round-trip time including this sample, s; `None` before the first sample.
    #[pyo3(get)]
    srtt_s: Option<f64>,
    /// Congestion mark; 0: none.
    #[pyo3(get)]
    congestion_mark: u64,
    /// Whether the Interest was still pending. It was not if it counted as lost and was not sent again.
    #[pyo3(get)]
    was_pending: bool,
    /// Pending Interests, without this one.
    #[pyo3(get)]
    pending: u32,
    /// Highest segment number sent so far.
    #[pyo3(get)]
    highest_sent: u64,
    /// The oldest missing segment.
    #[pyo3(get)]
    oldest_missing: u64,
    /// Expected size of the next Data on the wire, bytes.
    #[pyo3(get)]
    expected_size_bytes: u64,
    /// Number of packets that the Data counts as; 1 unless the law has the parameter `unit`.
    #[pyo3(get)]
    packets: f64,
    /// The law's decision in `on_data`: the pending Interests for the segments from the first number up to, but not
    /// including, the second count as lost; `None`: none.
    #[pyo3(get, set)]
    lost: Option<(u64, u64)>,
}

/// An Interest is sent.
#[pyclass(frozen, get_all, name = "Send", module = "weir")]
pub struct Sent {
    /// Send time, s.
    now_s: f64,
    /// Segment number.
    segment: u64,
    /// Whether it is a retransmission.
    retransmission: bool,
    /// Pending Interests, without this one.
    pending: u32,
    /// Expected size of its Data on the wire, bytes.
    expected_size_bytes: u64,
    /// How much later it is sent than the law permitted, s, because the application had nothing to request.
    late_s: f64,
}

/// An Interest counts as lost.
#[pyclass(frozen, get_all, module = "weir")]
pub struct Loss {
    /// The time of this decision, s.
    now_s: f64,
    /// Segment number.
    segment: u64,
    /// Pending Interests, without this one.
    pending: u32,
    /// Highest segment number sent so far.
    highest_sent: u64,
}

/// A congestion signal that counts.
#[pyclass(frozen, get_all, module = "weir")]
pub struct Congestion {
    /// `mark`: a Data had a congestion mark; `loss`: an Interest timed out, or was answered with a Nack.
    sign: &'static str,
    /// Arrival time, s.
    now_s: f64,
    /// Pending Interests.
    pending: u32,
    /// Number of packets that the Data of one of them counts as.
    packets: f64,
}

impl Data {
    fn new(ev: &DataReceived<'_>, packets: f64) -> Data {
        Data {
            now_s: seconds(ev.now),
            segment: ev.segment,
            rtt_s: ev.rtt.map(Span::as_secs_f64),
            srtt_s: ev.srtt.map(Span::as_secs_f64),
            congestion_mark: ev.data.header().congestion_mark,
            was_pending: ev.was_pending,
            pending: ev.pending,
            highest_sent: ev.highest_sent,
            oldest_missing: ev.oldest_missing,
            expected_size_bytes: ev.expected_size.as_u64(),
            packets,
            lost: None,
        }
    }
}

fn seconds(time: Time) -> f64 {
    (time - Time::ZERO).as_secs_f64()
}

/// The first exception of a run's laws. After it, laws are not called.
#[derive(Clone, Debug, Default)]
pub struct Failed(Arc<FirstError>);

#[derive(Debug, Default)]
struct FirstError {
    is_set: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Failed {
    fn is_set(&self) -> bool {
        self.0.is_set.load(Ordering::Relaxed)
    }

    fn set(&self, error: PyErr) {
        self.0.is_set.store(true, Ordering::Relaxed);
        self.0.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Raises the exception, if there is one.
    pub fn raise(&self) -> PyResult<()> {
        self.0.error.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}

/// The methods that a class overrides. Others are not called.
#[derive(Clone, Copy, Debug)]
struct Methods {
    on_send: bool,
    on_data: bool,
    on_loss: bool,
    on_unused: bool,
    is_marked: bool,
}

/// The given law. Each flow has a copy of it.
pub struct Law {
    name: String,
    given: Vec<(String, Value)>,
    prototype: Py<PyAny>,
    methods: Methods,
    failed: Failed,
}

impl Law {
    /// Checks that the object is an instance of a subclass of `weir.WindowLaw`.
    pub fn new(law: &Bound<'_, PyAny>, failed: Failed) -> PyResult<Law> {
        let class = law.get_type();
        let name = class.name()?.to_string();
        if weir_schemes::find(&name).is_some() {
            return Err(SchemeError::new_err(format!(
                "the class `{name}` has the name of a scheme: give it another one"
            )));
        }
        let base = law.py().import("weir.law")?.getattr("WindowLaw")?;
        if !law.is_instance(&base)? {
            return Err(PyTypeError::new_err(format!("{name} is not a subclass of weir.WindowLaw")));
        }
        let has = |method: &str| -> PyResult<bool> { Ok(!class.getattr(method)?.is(&base.getattr(method)?)) };
        let methods = Methods {
            on_send: has("on_send")?,
            on_data: has("on_data")?,
            on_loss: has("on_loss")?,
            on_unused: has("on_unused")?,
            is_marked: has("is_marked")?,
        };
        let given = parameters(&law.getattr("parameters")?)?;
        Ok(Law { name, given, prototype: law.clone().unbind(), methods, failed })
    }

    /// Returns the scheme with this law.
    pub fn resolve(self) -> PyResult<Resolved> {
        let Law { name, given, prototype, methods, failed } = self;
        let make = move |flow: &FlowConfig| FlowLaw::new(&prototype, methods, failed.clone(), flow);
        own_law(&name, given, make)
            .map_err(|wrong| SchemeError::new_err(with_help(&wrong.to_string(), &wrong.help())))
    }
}

fn with_help(message: &str, help: &str) -> String {
    if help.is_empty() { message.to_owned() } else { format!("{message}\n  = {help}") }
}

fn parameters(given: &Bound<'_, PyAny>) -> PyResult<Vec<(String, Value)>> {
    let one = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| Ok((key.extract()?, parameter(&value)?));
    given.cast::<PyDict>()?.iter().map(one).collect()
}

fn parameter(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Value::Bool(flag.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(Value::Int(value.extract()?));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(value.extract()?));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Value::Text(value.extract()?));
    }
    Err(PyTypeError::new_err("a parameter of a law is a bool, a number or a text"))
}

/// The law of one flow.
#[derive(Debug)]
struct FlowLaw {
    /// `None` if it could not be created. Then the run ends.
    law: Option<Py<PyAny>>,
    methods: Methods,
    failed: Failed,
    window: f64,
    pacing: Option<Rate>,
}

impl FlowLaw {
    fn new(prototype: &Py<PyAny>, methods: Methods, failed: Failed, flow: &FlowConfig) -> FlowLaw {
        let mut new = FlowLaw { law: None, methods, failed, window: 1.0, pacing: None };
        let made = Python::attach(|py| {
            let law = py.import("copy")?.call_method1("deepcopy", (prototype,))?;
            let flow = Flow {
                class_name: flow.class.name().to_owned(),
                expected_size_bytes: flow.expected_size.as_u64(),
                lifetime_s: flow.lifetime.as_secs_f64(),
            };
            law.call_method1("begin", (flow,))?;
            new.read(&law, "begin")?;
            Ok(law.unbind())
        });
        match made {
            Ok(law) => new.law = Some(law),
            Err(error) => new.failed.set(error),
        }
        new
    }

    /// Calls a method with the event from `event`, and reads the resulting window and pace. `answer` gets the method's
    /// return value.
    fn call<E, A>(&mut self, method: &str, event: E, answer: A)
    where
        E: for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>>,
        A: for<'py> FnOnce(&Bound<'py, PyAny>, &Bound<'py, PyAny>) -> PyResult<()>,
    {
        if self.failed.is_set() {
            return;
        }
        let Some(law) = self.law.take() else { return };
        let called = Python::attach(|py| {
            let bound = law.bind(py);
            let event = event(py)?;
            let returned = bound.call_method1(method, (&event,))?;
            answer(&event, &returned)?;
            self.read(bound, method)
        });
        self.law = Some(law);
        if let Err(error) = called {
            self.failed.set(error);
        }
    }

    fn read(&mut self, law: &Bound<'_, PyAny>, method: &str) -> PyResult<()> {
        let wrong = |what: &str, right: &str| {
            let class = law.get_type().name().map_or_else(|_| "the law".to_owned(), |name| name.to_string());
            PyValueError::new_err(format!("{class}.{method} left {what}: {right}"))
        };
        let window: f64 = law.getattr("window")?.extract()?;
        if !(window.is_finite() && window >= 1.0) {
            return Err(wrong(&format!("window = {window}"), "give it 1 packet or more"));
        }
        let pacing: Option<f64> = law.getattr("pacing_bps")?.extract()?;
        if let Some(pace) = pacing.filter(|pace| !(pace.is_finite() && *pace > 0.0)) {
            let right = "give it a rate of Data above 0, bit/s, or None for no pace";
            return Err(wrong(&format!("pacing_bps = {pace}"), right));
        }
        self.window = window.min(LARGEST_WINDOW);
        self.pacing = pacing.map(|pace| Rate::from_bps_f64(pace.max(1.0)));
        Ok(())
    }
}

/// Converts an event to a Python object.
fn event<'py, T>(py: Python<'py>, event: T) -> PyResult<Bound<'py, PyAny>>
where
    T: PyClass<BaseType = PyAny> + Into<PyClassInitializer<T>>,
{
    Ok(Bound::new(py, event)?.into_any())
}

/// Ignores a method's return value.
fn nothing(_event: &Bound<'_, PyAny>, _returned: &Bound<'_, PyAny>) -> PyResult<()> {
    Ok(())
}

impl WindowLaw for FlowLaw {
    fn window(&self) -> f64 {
        self.window
    }

    fn pacing(&self) -> Option<Rate> {
        self.pacing
    }

    fn on_send(&mut self, ev: &SendEvent<'_>, _number: u32, late: Span) {
        if !self.methods.on_send {
            return;
        }
        let sent = Sent {
            now_s: seconds(ev.now),
            segment: ev.segment,
            retransmission: ev.retransmission,
            pending: ev.pending,
            expected_size_bytes: ev.expected_size.as_u64(),
            late_s: late.as_secs_f64(),
        };
        self.call("on_send", |py| event(py, sent), nothing);
    }

    fn on_data(&mut self, ev: &mut DataReceived<'_>, packets: f64) {
        if !self.methods.on_data {
            return;
        }
        let data = Data::new(ev, packets);
        let lost = |data: &Bound<'_, PyAny>, _: &Bound<'_, PyAny>| {
            if let Some((from, to)) = data.cast::<Data>()?.borrow().lost {
                ev.lost = from..to;
            }
            Ok(())
        };
        self.call("on_data", |py| event(py, data), lost);
    }

    fn on_loss(&mut self, ev: &LossEvent<'_>) {
        if !self.methods.on_loss {
            return;
        }
        let loss = Loss {
            now_s: seconds(ev.now),
            segment: ev.segment,
            pending: ev.pending,
            highest_sent: ev.highest_sent,
        };
        self.call("on_loss", |py| event(py, loss), nothing);
    }

    fn is_marked(&mut self, ev: &mut DataReceived<'_>) -> bool {
        let mut is_marked = ev.data.header().congestion_mark != 0;
        if self.methods.is_marked {
            let data = Data::new(ev, 1.0);
            let answer = |_: &Bound<'_, PyAny>, returned: &Bound<'_, PyAny>| {
                is_marked = returned.is_truthy()?;
                Ok(())
            };
            self.call("is_marked", |py| event(py, data), answer);
        }
        is_marked
    }

    fn increase(&mut self, ev: &DataReceived<'_>, packets: f64) {
        let data = Data::new(ev, packets);
        self.call("increase", |py| event(py, data), nothing);
    }

    fn on_unused(&mut self, now: Time) {
        if self.methods.on_unused {
            self.call("on_unused", |py| Ok(seconds(now).into_pyobject(py)?.into_any()), nothing);
        }
    }

    fn decrease(&mut self, congestion: &weir_schemes::Congestion) {
        let congestion = Congestion {
            sign: match congestion.sign {
                Sign::Mark => "mark",
                Sign::Loss => "loss",
            },
            now_s: seconds(congestion.now),
            pending: congestion.pending,
            packets: congestion.packets,
        };
        self.call("decrease", |py| event(py, congestion), nothing);
    }
}
