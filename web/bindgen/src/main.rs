//! Makes the JavaScript beside the WebAssembly of the window, `systole-bindgen IN.wasm OUT`, and packs files,
//! `systole-bindgen --brotli QUALITY FILE`, into `FILE.br`.

use std::error::Error;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Cursor};

use brotli::enc::BrotliEncoderParams;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    match args.as_slice() {
        [module, folder] => bind(module, folder),
        [flag, quality, file] if flag == "--brotli" => pack(&quality.to_string_lossy(), file),
        _ => Err("say IN.wasm OUT, or --brotli QUALITY FILE".into()),
    }
}

fn bind(module: &OsString, folder: &OsString) -> Result<(), Box<dyn Error>> {
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).out_name("systole").typescript(false).web(true)?;
    // The script also finds the module by itself.
    bindgen.omit_default_module_path(false);
    Ok(bindgen.generate(folder)?)
}

fn pack(quality: &str, file: &OsString) -> Result<(), Box<dyn Error>> {
    let plain = fs::read(file)?;
    // The largest window that browsers take.
    let params = BrotliEncoderParams { quality: quality.parse()?, lgwin: 24, size_hint: plain.len(), ..Default::default() };
    let mut name = file.clone();
    name.push(".br");
    let mut packed = io::BufWriter::new(File::create(name)?);
    brotli::BrotliCompress(&mut Cursor::new(plain), &mut packed, &params)?;
    Ok(io::Write::flush(&mut packed)?)
}
