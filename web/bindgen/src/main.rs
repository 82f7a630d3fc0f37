//! Makes the JavaScript beside the WebAssembly of the window: `systole-bindgen IN.wasm OUT`.

use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1);
    let (Some(module), Some(folder)) = (args.next(), args.next()) else { return Err("say IN.wasm OUT".into()) };
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).out_name("systole").typescript(false).web(true)?;
    // The script also finds the module by itself.
    bindgen.omit_default_module_path(false);
    Ok(bindgen.generate(folder)?)
}
