//! What all Parquet files of results have in common: their schema, their properties, and how a column is written.

use crate::schema::{Column, Kind};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use std::io::Write;
use std::sync::Arc;

/// A Parquet file with these columns and this metadata, without rows yet. The same content gives the same bytes.
pub(crate) fn file_writer<W: Write + Send>(
    to: W,
    name: &str,
    columns: &[Column],
    metadata: Vec<(&str, String)>,
) -> Result<SerializedFileWriter<W>, ParquetError> {
    let metadata = metadata.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value)).collect();
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_created_by(format!("weir {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(metadata))
        .build();
    SerializedFileWriter::new(to, schema(name, columns)?, Arc::new(properties))
}

fn schema(name: &str, columns: &[Column]) -> Result<TypePtr, ParquetError> {
    let fields = columns
        .iter()
        .map(|column| {
            let (physical, logical) = match column.kind {
                Kind::F64 => (Physical::DOUBLE, None),
                Kind::F32 => (Physical::FLOAT, None),
                Kind::U32 => (Physical::INT32, Some(LogicalType::integer(32, false))),
                Kind::U64 => (Physical::INT64, Some(LogicalType::integer(64, false))),
                Kind::Bool => (Physical::BOOLEAN, None),
                Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            };
            let repetition = if column.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
            Type::primitive_type_builder(&column.name, physical)
                .with_repetition(repetition)
                .with_logical_type(logical)
                .build()
                .map(Arc::new)
        })
        .collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder(name).with_fields(fields).build().map(Arc::new)
}

/// Writes some rows of a column; `None` is null.
pub(crate) fn write_values<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    column: &Column,
    values: impl IntoIterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let values: Vec<Option<T::T>> = values.into_iter().collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let present: Vec<T::T> = values.into_iter().flatten().collect();
    if !column.nullable && present.len() < levels.len() {
        return Err(ParquetError::General(format!("a value of `{}` is missing", column.name)));
    }
    let levels = column.nullable.then_some(&levels[..]);
    writer.typed::<T>().write_batch(&present, levels, None)?;
    Ok(())
}
