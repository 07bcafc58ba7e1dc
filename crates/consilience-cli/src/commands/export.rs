//! `consilience export`: a model for programs that have neither Rust nor this package.

use consilience::export::{ExportOptions as Settings, IR_VERSION, OPSET, Precision};
use consilience_io::{Location, check_writable, write_whole};

use crate::data::read_model;
use crate::error::Failure;
use crate::export_args::ExportOptions;
use crate::files::{Input, check_distinct};
use crate::output::Messages;

pub(crate) fn run(options: &ExportOptions, messages: &Messages) -> Result<(), Failure> {
    let input = Location::from(options.model.as_path());
    check_distinct(&[Input::new("the model", &input)], &[("the export", &options.output)])?;
    check_writable(&options.output)?;
    let model = read_model(&options.model)?;
    let kind = options.values.map_or(model.input_format().kind, Into::into);
    let settings = Settings { kind, sum_tolerance: options.sum_tolerance };
    let in_file = Failure::in_file(options.model.display());
    let precision = if options.float32 { Precision::Single } else { Precision::Double };
    let (bytes, what) = if options.python {
        (
            model.to_python(&settings).map_err(in_file)?.into_bytes(),
            "Python without dependencies".to_owned(),
        )
    } else {
        let bits = if options.float32 { 32 } else { 64 };
        let what = format!("ONNX, opset {OPSET}, IR version {IR_VERSION}, {bits}-bit numbers");
        (model.to_onnx(precision, &settings).map_err(in_file)?, what)
    };
    write_whole(&options.output, &bytes)?;
    messages.note(format_args!(
        "method `{}`, {what} -> {}",
        model.method_name(),
        options.output.output_name()
    ));
    Ok(())
}
