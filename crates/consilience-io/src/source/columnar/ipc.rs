//! Arrow IPC source: the file format and the stream format, distinguished by their first bytes.
//!
//! The messages are read here and only decoded by `arrow-ipc`. Its own readers believe the lengths
//! in compressed buffers, and a damaged length can ask for more memory than there is.

use std::collections::HashMap;
use std::io::{BufReader, Cursor, Read};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{Block, Message, MessageHeader, convert, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use parquet::errors::ParquetError;
use parquet::file::reader::ChunkReader;

use super::{DAMAGED, empty_columns, guard, names_of};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::input::{Content, Stored, from_start};
use crate::source::Source;

/// The first and the last bytes of the file format; the stream format begins differently.
const FILE_MARK: &[u8] = b"ARROW1";

/// Begins a message, except in files written before 2019.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Bytes that compressed buffers of any size may expand to.
const FREE_EXPANSION: u64 = 1 << 30;

/// Larger messages may expand by this factor. Probabilities shrink to a half at best, so only a
/// damaged or hostile file exceeds it.
const MOST_EXPANSION: u64 = 100;

/// An Arrow table being read; the record batches in the file may be larger than those requested.
pub(in crate::source) struct IpcSource {
    name: String,
    names: Arc<[String]>,
    schema: SchemaRef,
    messages: Messages,
    dictionaries: HashMap<i64, ArrayRef>,
    rows: u64,
    rest: Option<RecordBatch>,
}

impl IpcSource {
    pub(in crate::source) fn open(content: Content, name: &str) -> Result<Self> {
        let opened = match content {
            Content::Stored(stored) if begins_as_file(&stored) => open_file(stored, name)?,
            Content::Stored(stored) => open_stream(from_start(&stored, name)?.into_read(), name)?,
            stream @ Content::Stream(_) => open_stream(stream.into_read(), name)?,
        };
        let (schema, messages) = opened.map_err(|error| read_error(name, &error))?;
        Ok(Self {
            name: name.to_owned(),
            names: names_of(&schema),
            schema,
            messages,
            dictionaries: HashMap::new(),
            rows: 0,
            rest: None,
        })
    }

    /// The next record batch of the file, which may be empty.
    fn read(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        while let Some((metadata, body)) = self.messages.next()? {
            let message = parse(&metadata)?;
            match message.header_type() {
                MessageHeader::RecordBatch => {
                    let batch = message.header_as_record_batch().ok_or_else(no_header)?;
                    check_expansion(&batch, &body)?;
                    let (schema, version) = (Arc::clone(&self.schema), message.version());
                    let batch = read_record_batch(
                        &body,
                        batch,
                        schema,
                        &self.dictionaries,
                        None,
                        &version,
                    )?;
                    return Ok(Some(batch));
                }
                MessageHeader::DictionaryBatch => {
                    let batch = message.header_as_dictionary_batch().ok_or_else(no_header)?;
                    check_expansion(&batch.data().ok_or_else(no_header)?, &body)?;
                    let (schema, version) = (&self.schema, message.version());
                    read_dictionary(&body, batch, schema, &mut self.dictionaries, &version)?;
                }
                MessageHeader::NONE => {}
                other => {
                    return Err(ArrowError::IpcError(format!("unexpected message {other:?}")));
                }
            }
        }
        Ok(None)
    }
}

impl Source for IpcSource {
    fn names(&self) -> &Arc<[String]> {
        &self.names
    }

    fn next_batch(&mut self, most: usize) -> Result<Option<Batch>> {
        let columns = loop {
            match self.rest.take() {
                Some(rest) if rest.num_rows() > 0 => break rest,
                _ => {}
            }
            let name = self.name.clone();
            self.rest = match guard(&name, || self.read())? {
                Ok(None) => return Ok(None),
                Ok(batch) => batch,
                Err(error) => return Err(read_error(&name, &error)),
            };
        };
        let n = columns.num_rows().min(most);
        self.rest = Some(columns.slice(n, columns.num_rows() - n));
        let first_row = self.rows;
        self.rows += n as u64;
        Batch::read(&self.name, &self.names, first_row, columns.slice(0, n)).map(Some)
    }

    fn empty_batch(&self) -> Batch {
        empty_columns(&self.names, &self.schema)
    }

    fn bytes_read(&self) -> u64 {
        self.messages.bytes_read()
    }

    fn data_type(&self, column: usize) -> Option<&DataType> {
        Some(self.schema.field(column).data_type())
    }
}

/// What was found at the start of a table, or why it cannot be read.
type Opened = Result<(SchemaRef, Messages), ArrowError>;

fn begins_as_file(stored: &Stored) -> bool {
    stored.get_bytes(0, FILE_MARK.len()).is_ok_and(|start| start == FILE_MARK)
}

/// The file format is read from its end.
fn open_file(stored: Stored, name: &str) -> Result<Opened> {
    guard(name, || {
        let (schema, blocks) = read_footer(&stored)?;
        Ok((schema, Messages::File { stored, blocks: blocks.into_iter(), bytes: 0 }))
    })
}

/// Opens a stream; if the file format comes from a stream, it is copied first.
fn open_stream(mut input: Box<dyn Read + Send>, name: &str) -> Result<Opened> {
    let mut start = Vec::new();
    let mark = input.by_ref().take(FILE_MARK.len() as u64).read_to_end(&mut start);
    mark.map_err(|reason| Error::io("read", name, reason))?;
    if start.is_empty() {
        return Err(Error::malformed(name, "the file is empty"));
    }
    let is_file = start == FILE_MARK;
    let whole = Box::new(Cursor::new(start).chain(input));
    if is_file {
        return open_file(Content::Stream(whole).into_stored(name)?, name);
    }
    let mut stream = Stream { input: BufReader::new(whole), bytes: 0, ended: false };
    guard(name, move || {
        let (metadata, _) = stream.next()?.ok_or_else(cut_off)?;
        let schema = parse(&metadata)?.header_as_schema().ok_or_else(no_header)?;
        Ok((read_schema(schema)?, Messages::Stream(stream)))
    })
}

/// The messages of a table: metadata and body of each.
enum Messages {
    File { stored: Stored, blocks: std::vec::IntoIter<Block>, bytes: u64 },
    Stream(Stream),
}

impl Messages {
    /// The next message, `None` at the end.
    fn next(&mut self) -> Result<Option<(Buffer, Buffer)>, ArrowError> {
        match self {
            Self::Stream(stream) => stream.next(),
            Self::File { stored, blocks, bytes } => blocks
                .next()
                .map(|block| {
                    let message = read_block(stored, &block)?;
                    *bytes += (message.0.len() + message.1.len()) as u64;
                    Ok(message)
                })
                .transpose(),
        }
    }

    fn bytes_read(&self) -> u64 {
        match self {
            Self::File { bytes, .. } | Self::Stream(Stream { bytes, .. }) => *bytes,
        }
    }
}

/// The schema and the places of all messages, dictionaries first. The file ends in the footer, its
/// length in four bytes, and the mark.
fn read_footer(stored: &Stored) -> Result<(SchemaRef, Vec<Block>), ArrowError> {
    let bytes = |from_end: u64, length: u64| {
        let start = stored.len().checked_sub(from_end).ok_or_else(cut_off)?;
        stored
            .get_bytes(start, usize::try_from(length).map_err(|_| cut_off())?)
            .map_err(|error| outside(&error))
    };
    let end = bytes(10, 10)?;
    let (length, mark) = end.split_at(4);
    let length: [u8; 4] = length.try_into().map_err(|_| cut_off())?;
    if mark != FILE_MARK {
        return Err(cut_off());
    }
    let length = u64::from(u32::from_le_bytes(length));
    let footer = bytes(10 + length, length)?;
    let footer =
        root_as_footer(&footer).map_err(|error| ArrowError::ParseError(error.to_string()))?;
    let schema = read_schema(footer.schema().ok_or_else(no_header)?)?;
    let blocks = footer.dictionaries().into_iter().flatten();
    let blocks = blocks.chain(footer.recordBatches().into_iter().flatten());
    Ok((schema, blocks.copied().collect()))
}

fn read_block(stored: &Stored, block: &Block) -> Result<(Buffer, Buffer), ArrowError> {
    let number = |value: i64| u64::try_from(value).map_err(|_| cut_off());
    let length = |value: i64| usize::try_from(value).map_err(|_| cut_off());
    let start = number(block.offset())?;
    let before = number(block.metaDataLength().into())?;
    let metadata = stored.get_bytes(start, length(block.metaDataLength().into())?);
    let metadata = Buffer::from(metadata.map_err(|error| outside(&error))?);
    let skipped = if metadata.starts_with(&CONTINUATION) { 8 } else { 4 };
    if metadata.len() < skipped {
        return Err(cut_off());
    }
    let start = start.checked_add(before).ok_or_else(cut_off)?;
    let body =
        stored.get_bytes(start, length(block.bodyLength())?).map_err(|error| outside(&error))?;
    Ok((metadata.slice(skipped), Buffer::from(body)))
}

/// A stream: messages one after the other.
struct Stream {
    input: BufReader<Box<dyn Read + Send>>,
    bytes: u64,
    ended: bool,
}

impl Stream {
    fn next(&mut self) -> Result<Option<(Buffer, Buffer)>, ArrowError> {
        let Some(length) = self.metadata_length()? else {
            return Ok(None);
        };
        let metadata = self.take_all(length)?;
        let body = u64::try_from(parse(&metadata)?.bodyLength()).map_err(|_| cut_off())?;
        Ok(Some((metadata, self.take_all(body)?)))
    }

    /// The length of the next message's metadata, `None` at the end, whose mark is optional.
    fn metadata_length(&mut self) -> Result<Option<u64>, ArrowError> {
        if self.ended {
            return Ok(None);
        }
        let mut word = self.take(4)?;
        self.ended = word.is_empty();
        if self.ended {
            return Ok(None);
        }
        if word == CONTINUATION {
            word = self.take(4)?;
        }
        let word: [u8; 4] = word.try_into().map_err(|_| cut_off())?;
        self.ended = word == [0; 4];
        Ok((!self.ended).then(|| u32::from_le_bytes(word).into()))
    }

    /// Exactly so many bytes. Memory grows with the bytes that are there, not with the length.
    fn take_all(&mut self, length: u64) -> Result<Buffer, ArrowError> {
        let bytes = self.take(length)?;
        if bytes.len() as u64 == length { Ok(Buffer::from_vec(bytes)) } else { Err(cut_off()) }
    }

    /// At most so many bytes; fewer only at the end.
    fn take(&mut self, length: u64) -> Result<Vec<u8>, ArrowError> {
        let mut bytes = Vec::new();
        let n = self.input.by_ref().take(length).read_to_end(&mut bytes)?;
        self.bytes += n as u64;
        Ok(bytes)
    }
}

fn read_schema(schema: arrow_ipc::Schema<'_>) -> Result<SchemaRef, ArrowError> {
    if !schema.endianness().equals_to_target_endianness() {
        return Err(ArrowError::IpcError("the bytes of numbers are in the other order".into()));
    }
    Ok(Arc::new(convert::try_fb_to_schema(schema)?))
}

fn parse(metadata: &[u8]) -> Result<Message<'_>, ArrowError> {
    root_as_message(metadata).map_err(|error| ArrowError::ParseError(error.to_string()))
}

/// Checks that the compressed buffers of a message do not claim more memory than they can need.
fn check_expansion(batch: &arrow_ipc::RecordBatch<'_>, body: &Buffer) -> Result<(), ArrowError> {
    if batch.compression().is_none() {
        return Ok(());
    }
    let lengths = batch.buffers().into_iter().flatten().map(|buffer| {
        let start = usize::try_from(buffer.offset()).ok()?;
        let length = body.get(start..start.checked_add(8)?)?.try_into().ok()?;
        u64::try_from(i64::from_le_bytes(length)).ok() // −1 marks bytes that are not compressed
    });
    let claimed = lengths.flatten().fold(0, u64::saturating_add);
    let allowed = FREE_EXPANSION.max(MOST_EXPANSION.saturating_mul(body.len() as u64));
    if claimed > allowed {
        return Err(ArrowError::IpcError(format!(
            "a compressed record batch of {} bytes claims to hold {claimed}",
            body.len()
        )));
    }
    Ok(())
}

fn outside(error: &ParquetError) -> ArrowError {
    ArrowError::IpcError(error.to_string())
}

fn cut_off() -> ArrowError {
    ArrowError::IpcError("the file ends too early".into())
}

fn no_header() -> ArrowError {
    ArrowError::IpcError("a message has no content".into())
}

fn read_error(name: &str, error: &ArrowError) -> Error {
    Error::Malformed {
        name: name.to_owned(),
        problem: format!("cannot be read as Arrow IPC: {error}"),
        hint: Some(DAMAGED.into()),
    }
}
