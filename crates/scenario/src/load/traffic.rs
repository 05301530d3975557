//! Random traffic of `[[flow]]`.

use std::sync::Arc;

use weir_document::Item;

use super::{Loader, Result};
use crate::traffic::{self, Activity, Arrivals, Distribution, Popularity, Requests};

/// The expected number of pauses of a flow in a run is at most this.
const MOST_PAUSES: f64 = 1e6;
/// The largest total number of objects in all tables of popularity.
pub(super) const MOST_RANKED: u64 = 20_000_000;

/// The random traffic of a group of flows.
#[derive(Default)]
pub(super) struct RandomTraffic {
    pub(super) amount: Option<Arc<Distribution>>,
    pub(super) arrivals: Option<Arrivals>,
    pub(super) activity: Option<Arc<Activity>>,
    objects: Option<u64>,
    popularity: Popularity,
}

impl RandomTraffic {
    /// Returns the requests of one of the flows, with its `amount` if that is a number.
    pub(super) fn requests(&self, amount: Option<u64>) -> Option<Arc<Requests>> {
        let fixed = || Distribution::Constant(amount.unwrap_or(1) as f64);
        Some(Arc::new(Requests {
            arrivals: self.arrivals.clone()?,
            amount: self.amount.as_deref().cloned().unwrap_or_else(fixed),
            objects: self.objects,
            popularity: self.popularity,
        }))
    }
}

impl Loader<'_> {
    pub(super) fn random_traffic(&self, item: &Item<'_>) -> Result<RandomTraffic> {
        let arrivals = self.read(item, "arrivals", str::parse, Arrivals::of_lines)?;
        let objects = item.opt_whole("objects")?;
        let popularity = self.read(item, "popularity", str::parse, |_| Err(String::new()))?;
        let is_text = item.given("amount").is_some_and(|value| value.as_text().is_some());
        let number: &dyn Fn(&str) -> core::result::Result<f64, String> = &traffic::data;
        let amount = if is_text {
            let parse = |text: &str| Distribution::parse(text, number);
            self.read(item, "amount", parse, |text| Distribution::of_lines(text, number))?
        } else {
            None
        };
        let needs = |key: &str, other: &str| {
            let value = item.value(key)?;
            let message = format!("`{key}` applies only with `{other}`");
            Err(item.error(
                key,
                &value,
                message,
                format!("give the flow `{other}` too, or leave out `{key}`"),
            ))
        };
        if arrivals.is_none() && objects.is_some() {
            return needs("objects", "arrivals");
        }
        if objects.is_none() && popularity.is_some() {
            return needs("popularity", "objects");
        }
        if let Some(arrivals) = &arrivals {
            check_requests(item, arrivals, objects)?;
        }
        let activity: Option<Activity> = self.read(item, "activity", str::parse, |_| Err(String::new()))?;
        if let Some(activity) = &activity {
            self.check_activity(item, activity, arrivals.as_ref())?;
        }
        Ok(RandomTraffic {
            amount: amount.map(Arc::new),
            arrivals,
            activity: activity.map(Arc::new),
            objects,
            popularity: popularity.unwrap_or_default(),
        })
    }

    fn check_activity(
        &self,
        item: &Item<'_>,
        activity: &Activity,
        arrivals: Option<&Arrivals>,
    ) -> Result<()> {
        let value = item.value("activity")?;
        if matches!(arrivals, Some(Arrivals::Listed(_))) {
            let message = "the requests of a file come at their times, so the flow has no pauses";
            return Err(item.error("activity", &value, message, "leave out `activity`"));
        }
        let turns = self.duration.as_secs_f64() / (activity.on.median() + activity.off.median());
        if turns > MOST_PAUSES {
            let message = format!("a run of {} would have about {turns:.0} pauses", self.duration);
            return Err(item.error(
                "activity",
                &value,
                message,
                format!("at most {MOST_PAUSES}: longer times, or a shorter run"),
            ));
        }
        Ok(())
    }

    /// Parses a value from a text, or from a file that it names.
    fn read<T>(
        &self,
        item: &Item<'_>,
        key: &str,
        parse: impl Fn(&str) -> core::result::Result<T, String>,
        of_file: impl Fn(&str) -> core::result::Result<T, String>,
    ) -> Result<Option<T>> {
        let Some(value) = item.given(key) else { return Ok(None) };
        let Some(text) = value.as_text() else { return Err(item.wrong(key, value)) };
        if let Some(name) = text.trim().strip_prefix("file ") {
            let no_file = |why| item.error(key, value, why, "a path is relative to the scenario's file");
            let content = self.files.read(name.trim()).map_err(no_file)?;
            let wrong = |message| item.error(key, value, format!("{}: {message}", name.trim()), "");
            return of_file(&content).map(Some).map_err(wrong);
        }
        let wrong = |message| item.error(key, value, message, item.wrong(key, value).message().to_owned());
        parse(text).map(Some).map_err(wrong)
    }
}

/// Rejects requests without an amount, and objects that do not exist.
fn check_requests(item: &Item<'_>, arrivals: &Arrivals, objects: Option<u64>) -> Result<()> {
    let value = item.value("arrivals")?;
    let error = |message: String, help: &str| Err(item.error("arrivals", &value, message, help));
    let has_amount = item.given("amount").is_some();
    match arrivals {
        Arrivals::Listed(requests) => {
            if !has_amount && requests.iter().any(|request| request.amount.is_none()) {
                return error(
                    "a request has no amount".to_owned(),
                    "give each its amount, or the flow an `amount`",
                );
            }
            let outside = |object: u64| objects.is_some_and(|objects| object >= objects);
            let named = requests.iter().filter(|request| request.object.is_some()).count();
            if objects.is_none() && named != 0 && named != requests.len() {
                return error(
                    "some requests have an object and others have none".to_owned(),
                    "give each request its object, or none, or the flow `objects`",
                );
            }
            if let Some(object) = requests.iter().filter_map(|request| request.object).find(|o| outside(*o)) {
                let most = objects.unwrap_or_default();
                return error(
                    format!("object {object} is requested, but there are {most}"),
                    "objects count from 0",
                );
            }
            Ok(())
        }
        _ if !has_amount => error(
            "the requests have no amount".to_owned(),
            "give the flow an `amount`: a number of segments, or a distribution",
        ),
        _ => Ok(()),
    }
}
