//! The declaration of parameters: each row defines a parameter once, for the table, the struct and its
//! reader.

use core::ops::RangeInclusive;

use super::{Parameter, ParameterKind, Variant};
use crate::tables::flow_prefix::FlowPrefix;
use crate::units::{Bytes, Rate, Span};

/// Declares the parameters of a scheme or of a part of it: a struct with a field for each, its table
/// `PARAMETERS`, and its reader `new(&Params)`.
///
/// A row has, in this order: the meaning, which is also the field's documentation; the field and its type;
/// the kind of the values in files, with the key and the bounds, both included; the default, as in a file;
/// and its source. Two further parts are optional: `at_least "key"` after the kind, the parameter that this
/// one must not be below; and `applications "value"` after the default, another default for applications.
///
/// ```
/// use weir_core::seam::params::{Params, Value};
/// use weir_core::units::Span;
///
/// weir_core::parameters! {
///     /// The parameters of a scheme.
///     #[derive(Clone, Copy, Debug)]
///     pub struct Settings {
///         /// β, the part of W that a decrease leaves
///         pub beta: f64 = number("beta", 0.1..=0.99) default "0.5" applications "0.7" from "paper: RFC 5681, (4)";
///         /// how long a queue is measured; 0: never
///         pub measured: Option<Span> = span("measured", Span::ZERO..=Span::from_secs(1)) default "100 ms"
///             from "assumed: several round trips";
///     }
/// }
///
/// let given = Value::parse("0 s");
/// let settings = Settings::new(&Params::resolve(Settings::PARAMETERS, [("measured", &given)]).unwrap());
/// assert_eq!((settings.beta, settings.measured), (0.5, None));
/// assert_eq!(Settings::PARAMETERS[0].meaning, "β, the part of W that a decrease leaves");
/// assert_eq!(Settings::PARAMETERS[0].of_applications, Some("0.7"));
/// ```
///
/// The kinds are `number`, `integer`, `span`, `rate`, `bytes`, `switch`, `choice` and `variant`. The bounds
/// of a choice are its words, by default those of the field's type (see [`choice!`](crate::choice)). The
/// bounds of `variant` are the [`Variant`]s. A [`Setting`] implementation turns the value into the field's
/// type; `as` after the source names another function for this. Other forms of rows are:
///
/// - `_ = kind(…) …;` is a row without a field, such as `variant`, which only changes defaults.
/// - `field: Type = each kind("family.*", …) …;` is a family. `Type` is collected from pairs of a prefix and
///   a value.
/// - `field: [T; N] = [ rows ];` are N rows without fields of their own.
/// - `field: Type = group;` are the parameters that `Type` declares. `group { … }` changes some of them for
///   this scheme: `initial_window default "4" from "…";`, with another meaning before it if needed. It must
///   change every row whose default is empty, because schemes share no value for such a row.
///
/// The following are compile errors: a key that is declared twice, a row of a group without a default, and a
/// key that a `group { … }` or a variant changes but that is not declared.
#[macro_export]
macro_rules! parameters {
    ($(#[$attribute:meta])* $vis:vis struct $name:ident { $($rows:tt)* }) => {
        $crate::parameters!(@row [$(#[$attribute])* $vis struct $name] params {} {} {} $($rows)*);
    };

    // Each arm takes one row and extends the table, the fields and the readers.
    (@row $head:tt $params:ident { $($table:tt)* } $fields:tt $readers:tt
        $(#[doc = $meaning:literal])+
        _ = $kind:ident($key:literal $(, $bounds:expr)?) default $default:literal from $from:literal;
        $($rest:tt)*
    ) => {
        $crate::parameters!(@row $head $params
            { $($table)* &[$crate::parameters!(@table [()] $kind($key $(, $bounds)?) $default $from $($meaning)+)], }
            $fields $readers $($rest)*);
    };
    (@row $head:tt $params:ident { $($table:tt)* } { $($fields:tt)* } { $($readers:tt)* }
        $(#[doc = $doc:literal])*
        $vis:vis $field:ident: $type:ty = group $({
            $($(#[doc = $meaning:literal])* $key:ident default $default:literal from $from:literal;)+
        })?;
        $($rest:tt)*
    ) => {
        $crate::parameters!(@row $head $params
            {
                $($table)*
                &$crate::seam::params::declare::changed::<{ <$type>::PARAMETERS.len() }>(<$type>::PARAMETERS, &[
                    $($($crate::parameters!(@table [()] switch(stringify!($key)) $default $from "" $($meaning)*),)+)?
                ]),
            }
            { $($fields)* $(#[doc = $doc])* $vis $field: $type, }
            { $($readers)* $field: <$type>::new($params), }
            $($rest)*);
    };
    (@row $head:tt $params:ident { $($table:tt)* } { $($fields:tt)* } { $($readers:tt)* }
        $(#[doc = $doc:literal])*
        $vis:vis $field:ident: $type:ty = [$(
            $(#[doc = $meaning:literal])+
            $kind:ident($key:literal $(, $bounds:expr)?) default $default:literal from $from:literal;
        )+];
        $($rest:tt)*
    ) => {
        $crate::parameters!(@row $head $params
            {
                $($table)*
                &[$($crate::parameters!(@table [()] $kind($key $(, $bounds)?) $default $from $($meaning)+)),+],
            }
            { $($fields)* $(#[doc = $doc])* $vis $field: $type, }
            { $($readers)* $field: [$($crate::seam::params::Setting::of($params.value($key).$kind())),+], }
            $($rest)*);
    };
    (@row $head:tt $params:ident { $($table:tt)* } { $($fields:tt)* } { $($readers:tt)* }
        $(#[doc = $meaning:literal])+
        $vis:vis $field:ident: $type:ty = each $kind:ident($key:literal $(, $bounds:expr)?)
            default $default:literal from $from:literal;
        $($rest:tt)*
    ) => {
        $crate::parameters!(@row $head $params
            { $($table)* &[$crate::parameters!(@table [$type] $kind($key $(, $bounds)?) $default $from $($meaning)+)], }
            { $($fields)* $(#[doc = $meaning])+ $vis $field: $type, }
            {
                $($readers)*
                $field: $params
                    .members($key)
                    .map(|(prefix, value)| (prefix.clone(), $crate::seam::params::Setting::of(value.$kind())))
                    .collect(),
            }
            $($rest)*);
    };
    (@row $head:tt $params:ident { $($table:tt)* } { $($fields:tt)* } { $($readers:tt)* }
        $(#[doc = $meaning:literal])+
        $vis:vis $field:ident: $type:ty = $kind:ident($key:literal $(, $bounds:expr)?) $(at_least $least:literal)?
            default $default:literal $(applications $of_applications:literal)? from $from:literal $(as $convert:expr)?;
        $($rest:tt)*
    ) => {
        $crate::parameters!(@row $head $params
            { $($table)* &[$crate::seam::params::Parameter {
                $(at_least: Some($least),)?
                $(of_applications: Some($of_applications),)?
                ..$crate::parameters!(@table [$type] $kind($key $(, $bounds)?) $default $from $($meaning)+)
            }], }
            { $($fields)* $(#[doc = $meaning])+ $vis $field: $type, }
            { $($readers)* $field: $crate::parameters!(@read [$params.value($key).$kind()] $($convert)?), }
            $($rest)*);
    };
    (@row [$(#[$attribute:meta])* $vis:vis struct $name:ident] $params:ident
        { $($table:tt)* } { $($fields:tt)* } { $($readers:tt)* }
    ) => {
        $(#[$attribute])*
        $vis struct $name {
            $($fields)*
        }

        impl $name {
            /// The table of the parameters.
            $vis const PARAMETERS: &'static [$crate::seam::params::Parameter] = {
                const ROWS: &[&[$crate::seam::params::Parameter]] = &[$($table)*];
                &$crate::seam::params::declare::joined::<{ $crate::seam::params::declare::total(ROWS) }>(ROWS)
            };

            /// Reads the parameters.
            $vis fn new($params: &$crate::seam::params::Params) -> $name {
                $name { $($readers)* }
            }
        }
    };

    (@table [$type:ty] choice($key:expr) $($more:literal)+) => {
        $crate::parameters!(@table [$type] choice($key, <$type>::WORDS) $($more)+)
    };
    (@table [$type:ty] $kind:ident($key:expr $(, $bounds:expr)?)
        $default:literal $from:literal $($meaning:literal)+
    ) => {
        $crate::seam::params::Parameter {
            key: $key,
            kind: $crate::seam::params::ParameterKind::$kind($($bounds)?),
            default: $default,
            of_applications: None,
            at_least: None,
            meaning: concat!($($meaning),+).trim_ascii(),
            from: $from,
        }
    };
    (@read [$($value:tt)*]) => { $crate::seam::params::Setting::of($($value)*) };
    (@read [$($value:tt)*] $convert:expr) => { $crate::seam::params::declare::converted($($value)*, $convert) };
}

/// Declares an enum whose variants are the words of a parameter of kind `choice`.
///
/// ```
/// weir_core::choice! {
///     /// What a consumer reacts to.
///     #[derive(Clone, Copy, Debug, PartialEq)]
///     pub enum Signs {
///         /// Marks alone.
///         Marks = "marks",
///         /// Losses alone.
///         Losses = "losses",
///     }
/// }
///
/// weir_core::parameters! {
///     /// The parameters of a scheme.
///     pub struct Settings {
///         /// the signals of congestion
///         pub signs: Signs = choice("react_to") default "marks" from "assumed";
///     }
/// }
/// ```
#[macro_export]
macro_rules! choice {
    ($(#[$attribute:meta])* $vis:vis enum $name:ident {
        $($(#[$of_word:meta])* $variant:ident = $word:literal),+ $(,)?
    }) => {
        $(#[$attribute])*
        $vis enum $name {
            $($(#[$of_word])* $variant),+
        }

        impl $name {
            /// The words, in the order of the variants.
            $vis const WORDS: &'static [&'static str] = &[$($word),+];
        }

        impl $crate::seam::params::Setting<&str> for $name {
            fn of(word: &str) -> $name {
                match word {
                    $($word => $name::$variant,)+
                    _ => unreachable!("a choice is checked when it is resolved"),
                }
            }
        }
    };
}

/// A field type that is made from a parameter's value. `T` is the type of the kind's values: `f64`, `u64`,
/// [`Span`], [`Rate`], [`Bytes`], `bool` or `&str`.
pub trait Setting<T> {
    /// Converts the value.
    fn of(value: T) -> Self;
}

/// Field types that hold the value unchanged.
macro_rules! as_it_is {
    ($($type:ty),+) => {
        $(impl Setting<$type> for $type {
            fn of(value: $type) -> $type {
                value
            }
        })+
    };
}

as_it_is!(f64, u64, Span, Rate, Bytes, bool);

/// Field types with a smaller range. A parameter's bounds must be within the range; larger values become its
/// maximum.
macro_rules! smaller {
    ($($type:ty),+) => {
        $(impl Setting<u64> for $type {
            fn of(value: u64) -> $type {
                <$type>::try_from(value).unwrap_or(<$type>::MAX)
            }
        })+
    };
}

smaller!(u8, u32, usize);

/// Field types for which zero becomes `None`.
macro_rules! zero_is_none {
    ($($type:ty),+) => {
        $(impl Setting<$type> for Option<$type> {
            fn of(value: $type) -> Option<$type> {
                Some(value).filter(|value| *value > <$type>::ZERO)
            }
        })+
    };
}

zero_is_none!(Span, Rate, Bytes);

impl Setting<u64> for FlowPrefix {
    /// A number of components; 0 stands for the prefix of the FIB entry.
    fn of(components: u64) -> FlowPrefix {
        match Setting::of(components) {
            0 => FlowPrefix::FibEntry,
            components => FlowPrefix::Components(components),
        }
    }
}

/// The kinds, by their names in declarations.
impl ParameterKind {
    /// A number between two bounds, both included.
    pub const fn number(bounds: RangeInclusive<f64>) -> ParameterKind {
        ParameterKind::Number(*bounds.start(), *bounds.end())
    }

    /// A whole number between two bounds, both included.
    pub const fn integer(bounds: RangeInclusive<i64>) -> ParameterKind {
        ParameterKind::Integer(*bounds.start(), *bounds.end())
    }

    /// A time between two bounds, both included.
    pub const fn span(bounds: RangeInclusive<Span>) -> ParameterKind {
        ParameterKind::Span(*bounds.start(), *bounds.end())
    }

    /// A rate between two bounds, both included.
    pub const fn rate(bounds: RangeInclusive<Rate>) -> ParameterKind {
        ParameterKind::Rate(*bounds.start(), *bounds.end())
    }

    /// A size.
    pub const fn bytes() -> ParameterKind {
        ParameterKind::Bytes
    }

    /// `true` or `false`.
    pub const fn switch() -> ParameterKind {
        ParameterKind::Switch
    }

    /// One of these words.
    pub const fn choice(words: &'static [&'static str]) -> ParameterKind {
        ParameterKind::Choice(words)
    }

    /// The name of one of these variants.
    pub const fn variant(variants: &'static [Variant]) -> ParameterKind {
        ParameterKind::Variant(variants)
    }
}

/// Number of rows of all parts.
#[doc(hidden)]
pub const fn total(parts: &[&[Parameter]]) -> usize {
    let (mut total, mut part) = (0, 0);
    while part < parts.len() {
        total += parts[part].len();
        part += 1;
    }
    total
}

/// Joins the rows of all parts, `N` in total.
///
/// # Panics
/// Panics at compile time if a key occurs twice, or if a variant or `at_least` names an unknown key.
#[doc(hidden)]
pub const fn joined<const N: usize>(parts: &[&[Parameter]]) -> [Parameter; N] {
    let mut rows = [NOTHING; N];
    let (mut at, mut part) = (0, 0);
    while part < parts.len() {
        let mut row = 0;
        while row < parts[part].len() {
            assert!(place(&rows, parts[part][row].key).is_none(), "a key is declared twice");
            rows[at] = parts[part][row];
            (at, row) = (at + 1, row + 1);
        }
        part += 1;
    }
    let mut at = 0;
    while at < N {
        if let ParameterKind::Variant(variants) = rows[at].kind {
            check_variants(&rows, variants);
        }
        if let Some(least) = rows[at].at_least {
            assert!(place(&rows, least).is_some(), "`at_least` names a key that is not declared");
        }
        at += 1;
    }
    rows
}

/// Panics if a variant changes a key that is not declared.
const fn check_variants(rows: &[Parameter], variants: &[Variant]) {
    let mut variant = 0;
    while variant < variants.len() {
        let defaults = variants[variant].defaults;
        let mut at = 0;
        while at < defaults.len() {
            assert!(place(rows, defaults[at].0).is_some(), "a variant names a key that is not declared");
            at += 1;
        }
        variant += 1;
    }
}

/// Copies a group's rows with other defaults, sources and, if given, meanings.
///
/// # Panics
/// Panics at compile time if the group lacks a key, or if a row has no default.
#[doc(hidden)]
pub const fn changed<const N: usize>(group: &[Parameter], changes: &[Parameter]) -> [Parameter; N] {
    let mut rows = joined::<N>(&[group]);
    let mut at = 0;
    while at < changes.len() {
        let Parameter { key, default, meaning, from, .. } = changes[at];
        let Some(place) = place(&rows, key) else { panic!("the group has no parameter with this key") };
        (rows[place].default, rows[place].from) = (default, from);
        if !meaning.is_empty() {
            rows[place].meaning = meaning;
        }
        at += 1;
    }
    let mut at = 0;
    while at < N {
        assert!(!rows[at].default.is_empty(), "a parameter of the group has no default here");
        at += 1;
    }
    rows
}

/// Converts a value by another function than [`Setting::of`].
#[doc(hidden)]
pub fn converted<T, F>(value: T, convert: impl FnOnce(T) -> F) -> F {
    convert(value)
}

const NOTHING: Parameter = Parameter {
    key: "",
    kind: ParameterKind::Switch,
    default: "false",
    of_applications: None,
    at_least: None,
    meaning: "",
    from: "",
};

/// The index of the row with this key.
const fn place(rows: &[Parameter], key: &str) -> Option<usize> {
    let mut at = 0;
    while at < rows.len() {
        if is_same(rows[at].key.as_bytes(), key.as_bytes()) {
            return Some(at);
        }
        at += 1;
    }
    None
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}
