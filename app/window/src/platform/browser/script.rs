//! Calls of the script around the window: `systolePage` in `web/page/page.js`.

use js_sys::{Array, Function, JsString, Object, Promise, Reflect};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

/// Calls a function of the page.
pub fn call(name: &str, args: &[JsValue]) -> Result<JsValue, JsValue> {
    let page = Reflect::get(&js_sys::global(), &"systolePage".into())?;
    let function: Function = Reflect::get(&page, &name.into())?.dyn_into()?;
    Reflect::apply(&function, &page, &args.iter().collect::<Array>())
}

/// Waits for a promise. The error is a sentence.
pub async fn answer(promise: Result<JsValue, JsValue>) -> Result<JsValue, String> {
    let promise = promise
        .and_then(JsCast::dyn_into::<Promise>)
        .map_err(|error| words(&error))?;
    JsFuture::from(promise).await.map_err(|error| words(&error))
}

/// A field of an object; undefined if it has none.
pub fn field(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &name.into()).unwrap_or_default()
}

/// An exception of JavaScript as a sentence.
pub fn words(error: &JsValue) -> String {
    let message = error
        .dyn_ref::<js_sys::Error>()
        .map(|error| String::from(error.message()));
    let text = || error.dyn_ref::<JsString>().map(String::from);
    message.or_else(text).unwrap_or_else(|| {
        error
            .dyn_ref::<Object>()
            .map_or_else(String::new, |o| o.to_string().into())
    })
}
