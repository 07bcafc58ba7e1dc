//! The HTML page: a template with the style, the scripts and the JSON of a report.

use crate::report::Report;

const TEMPLATE: &str = include_str!("../page/page.html");
const STYLE: &str = include_str!("../page/style.css");

/// The scripts in the order in which they are run.
const SCRIPTS: [&str; 9] = [
    include_str!("../page/elements.js"),
    include_str!("../page/charts.js"),
    include_str!("../page/scores.js"),
    include_str!("../page/sources.js"),
    include_str!("../page/reliability.js"),
    include_str!("../page/items.js"),
    include_str!("../page/sliders.js"),
    include_str!("../page/votes.js"),
    include_str!("../page/main.js"),
];

/// The page of a report. Names come from data and may contain anything; they are escaped here and
/// written as text by the scripts.
pub(crate) fn html(report: &Report) -> String {
    let mut notes = String::new();
    for note in &report.notes {
        let class = if note.warning { "note warning" } else { "note" };
        notes += &format!("<p class=\"{class}\">{}</p>\n", marked(&note.text));
    }
    let json = script_safe(&report.to_json().to_string());
    let parts = [
        ("title", escaped(&report.title)),
        ("verdict", marked(&report.verdict)),
        ("notes", notes),
        ("software", report.software.to_owned()),
        ("style", STYLE.to_owned()),
        ("script", SCRIPTS.concat()),
        ("json", json),
    ];
    filled(TEMPLATE, &parts)
}

/// The template with every `{{name}}` replaced. What is inserted is not searched again.
fn filled(template: &str, parts: &[(&str, String)]) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").expect("placeholders of the template end");
        let part = parts.iter().find(|(own, _)| *own == name);
        text += before;
        text += &part.expect("the template names known parts").1;
        rest = after;
    }
    text + rest
}

/// Text for HTML.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            c => safe.push(c),
        }
    }
    safe
}

/// Text for HTML with `code` between backticks.
fn marked(text: &str) -> String {
    let parts = text.split('`').map(escaped).enumerate();
    parts.map(|(i, part)| if i % 2 == 1 { format!("<code>{part}</code>") } else { part }).collect()
}

/// JSON for a script element: no character of it can end the element or begin a comment.
fn script_safe(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => safe += "\\u003c",
            '>' => safe += "\\u003e",
            '&' => safe += "\\u0026",
            '\u{2028}' => safe += "\\u2028",
            '\u{2029}' => safe += "\\u2029",
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        assert_eq!(escaped("<a b='c'>&\""), "&lt;a b=&#39;c&#39;&gt;&amp;&quot;");
        assert_eq!(marked("`<x>` & y"), "<code>&lt;x&gt;</code> &amp; y");
        let json = script_safe(r#"{"a":"</script><!--"}"#);
        assert_eq!(json, r#"{"a":"\u003c/script\u003e\u003c!--"}"#);
        let back: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(back["a"], "</script><!--");
    }

    #[test]
    fn inserted_text_is_not_searched_for_placeholders() {
        let parts = [("a", "{{b}}".to_owned()), ("b", "x".to_owned())];
        assert_eq!(filled("<{{a}}|{{b}}>", &parts), "<{{b}}|x>");
    }

    #[test]
    fn the_page_loads_nothing() {
        let all = [TEMPLATE, STYLE].into_iter().chain(SCRIPTS).collect::<String>();
        let own = all.replace("http://www.w3.org/2000/svg", "");
        for loading in ["http:", "https:", "src=", "@import", "url(", "fetch(", "innerHTML"] {
            assert!(!own.contains(loading), "{loading}");
        }
    }
}
