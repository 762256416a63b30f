//! Tests of templates. Expected texts are the output of Go's `html/template` and `text/template` (1.24).

use proptest::prelude::*;

use super::*;

fn data() -> Value {
    Value::from(&serde_json::json!({
        "U": "https://a.b/c?d=e&f=g#h i'(", "N": 1_234_567, "One": 1, "Half": 0.5, "C": "red; x",
        "T": "a+b <\"'> `=", "M": {}, "J": "javascript:x", "L": ["a", 1.5, null], "Map": {"k": "v", "n": null},
        "Name": "Ann", "Yes": true, "None": null, "Items": [{"t": "x"}, {"t": "<"}], "Empty": "",
    }))
}

fn render(source: &str, format: Format) -> Result<String, TemplateError> {
    Template::parse(source, format)?.render(&data())
}

fn html(source: &str) -> String {
    render(source, Format::Html).unwrap()
}

fn text(source: &str) -> String {
    render(source, Format::Text).unwrap()
}

#[test]
fn values_are_escaped_for_their_context() {
    for (source, expected) in [
        ("{{.T}}", "a&#43;b &lt;&#34;&#39;&gt; `="),
        (
            r#"<a href="{{.U}}?x={{.U}}">"#,
            "<a href=\"https://a.b/c?d=e&amp;f=g#h%20i%27%28?x=https%3a%2f%2fa.b%2fc%3fd%3de%26f%3dg%23h%20i%27%28\">",
        ),
        (r#"<a href="/a&x={{.U}}">"#, "<a href=\"/a&x=https://a.b/c?d=e&amp;f=g#h%20i%27%28\">"),
        ("<a href='{{.J}}'>", "<a href='#ZgotmplZ'>"),
        ("<a href={{.T}}>", "<a href=a&#43;b%20%3c%22%27%3e%20%60&#61;>"),
        ("<b title={{.T}}>", "<b title=a&#43;b&#32;&lt;&#34;&#39;&gt;&#32;&#96;&#61;>"),
        (r#"<b style="color: {{.C}}">"#, "<b style=\"color: ZgotmplZ\">"),
        (r#"<b style="color: {{.Name}}">"#, "<b style=\"color: Ann\">"),
        (r#"<a {{.T}}="x">"#, "<a ZgotmplZ=\"x\">"),
        (
            "<textarea>{{.T}}</textarea>{{.T}}",
            "<textarea>a&#43;b &lt;&#34;&#39;&gt; `=</textarea>a&#43;b &lt;&#34;&#39;&gt; `=",
        ),
        ("a<!-- {{.Name}} -->b<!-- c -->", "ab"),
        (
            "<style>p { color: {{.C}} }</style>{{.T}}",
            "<style>p { color: ZgotmplZ }</style>a&#43;b &lt;&#34;&#39;&gt; `=",
        ),
        ("1 < 2 {{.Name}}", "1 < 2 Ann"),
    ] {
        assert_eq!(html(source), expected, "{source}");
    }
}

#[test]
fn values_in_json_are_escaped_for_it() {
    for (source, expected) in [
        (
            r#"<script type="application/ld+json">{"url": "{{.U}}", "n": {{.N}}}</script>{{.T}}"#,
            "<script type=\"application/ld+json\">{\"url\": \"https:\\/\\/a.b\\/c?d=e\\u0026f=g#h i\\u0027(\", \"n\":  1234567 }\
             </script>a&#43;b &lt;&#34;&#39;&gt; `=",
        ),
        (
            "<SCRIPT nonce=x TYPE='application/LD+json; charset=utf-8'>[{{.T}},{{.L}},{{.Map}},{{.Yes}},{{.None}}]</SCRIPT>",
            "<SCRIPT nonce=x TYPE='application/LD+json; charset=utf-8'>[\"a+b \\u003c\\\"'\\u003e `=\",[\"a\",1.5,null],\
             {\"k\":\"v\",\"n\":null}, true , null ]</SCRIPT>",
        ),
        (
            "<script type=application/json>{\"a\\\"{{.T}}\": '{{.Name}}' {{.One}}}</script>",
            "<script type=application/json>{\"a\\\"a\\u002bb \\u003c\\u0022\\u0027\\u003e \\u0060=\": 'Ann'  1 }</script>",
        ),
        (
            "<script type=\"text/template\"><b title='{{.T}}'></script>{{.Name}}",
            "<script type=\"text/template\"><b title='a&#43;b &lt;&#34;&#39;&gt; `='></script>Ann",
        ),
    ] {
        assert_eq!(html(source), expected, "{source}");
    }
}

#[test]
fn values_print_as_in_go() {
    assert_eq!(html("{{.N}} {{.One}} {{.Half}}"), "1.234567e&#43;06 1 0.5");
    assert_eq!(html("{{.L}} {{.Map}}"), "[a 1.5 &lt;nil&gt;] map[k:v n:&lt;nil&gt;]");
    assert_eq!(html("[{{.None}}{{.Missing}}{{.M.x}}{{.M.x.y}}]"), "[]");
    assert_eq!(text("[{{.Missing}}]"), "[<no value>]");
}

#[test]
fn blocks_choose_and_repeat() {
    for (source, expected) in [
        ("{{if .Yes}}a{{else}}b{{end}}", "a"),
        ("{{if .Empty}}a{{else if .None}}b{{else if eq .Name \"Ann\"}}c{{else}}d{{end}}", "c"),
        ("{{with .Map}}{{.k}}{{$.Name}}{{end}}", "vAnn"),
        ("{{with .None}}a{{else with .Name}}{{.}}{{end}}", "Ann"),
        ("{{range .Items}}{{.t}},{{end}}", "x,<,"),
        ("{{range $i, $item := .Items}}{{$i}}{{$item.t}}{{end}}", "0x1<"),
        ("{{range $k, $v := .Map}}{{$k}}={{$v}};{{end}}", "k=v;n=<no value>;"),
        ("{{range .None}}a{{else}}none{{end}}", "none"),
        ("{{range .Items}}{{if eq .t \"x\"}}{{continue}}{{end}}{{.t}}{{break}}{{end}}", "<"),
        ("{{$a := 1}}{{if true}}{{$a = 2}}{{$b := 3}}{{$b}}{{end}}{{$a}}", "32"),
        ("{{define \"hello\"}}Hello {{.}}{{end}}{{template \"hello\" .Name}}", "Hello Ann"),
        ("{{block \"x\" .Name}}<{{.}}>{{end}}", "<Ann>"),
        ("a  {{- /* left out */ -}}  b", "ab"),
        ("a {{- .Name -}} b", "aAnnb"),
        ("{{ \"{{\" }}{{`}}`}}", "{{}}"),
    ] {
        assert_eq!(text(source), expected, "{source}");
    }
}

#[test]
fn functions_and_pipelines_compute() {
    for (source, expected) in [
        ("{{.Name | printf \"%s-%s\" \"x\"}}", "x-Ann"),
        (
            "{{printf \"%5s|%-5s|%.2f|%d|%q|%v|%05d|%%\" .Name .Name .Half 7 .Name .Yes 42}}",
            "  Ann|Ann  |0.50|7|\"Ann\"|true|00042|%",
        ),
        ("{{len .Name}} {{len .Items}}", "3 2"),
        ("{{index .Items 1 \"t\"}} {{index .Map \"k\"}}", "< v"),
        ("{{slice .Name 1}} {{slice .Name 0 1}}", "nn A"),
        ("{{and .Yes .Name}} {{or .Empty .Name}} {{not .Empty}}", "Ann Ann true"),
        ("{{and .None .Name.x}}", "<no value>"),
        (
            "{{eq .Name \"Bob\" \"Ann\"}} {{ne .Name \"Bob\"}} {{lt 1 2}} {{ge 1.5 2.5}}",
            "true true true false",
        ),
        ("{{(index .Items 0).t}}", "x"),
        ("{{print 1 2 \"a\" \"b\" 3}}", "1 2ab3"),
        ("{{urlquery .U}}", "https%3A%2F%2Fa.b%2Fc%3Fd%3De%26f%3Dg%23h+i%27%28"),
        ("{{html .T}} {{js .T}}", "a&#43;b &lt;&#34;&#39;&gt; `= a+b \\u003C\\\"\\'\\u003E `\\u003D"),
    ] {
        assert_eq!(text(source), expected, "{source}");
    }
}

#[test]
fn errors_have_their_line() {
    for (source, line, reason) in [
        ("a\n{{if .Yes}}", 2, "not closed"),
        ("{{.Name", 1, "not closed"),
        ("\n\n{{nonsense .Name}}", 3, "\"nonsense\" is not defined"),
        ("{{end}}", 1, "nothing to end"),
        ("{{.Name .Yes}}", 1, "only functions"),
        ("{{}}", 1, "a value is missing"),
        ("{{\"a}}", 1, "not closed"),
        ("{{template \"x\"}}", 1, "\"x\" is not defined"),
        ("\n{{.Name.x}}", 2, "can't evaluate field x in a string"),
        ("{{range .Name}}{{end}}", 1, "can't iterate over a string"),
        ("<script>\nvar a = {{.Name}}</script>", 2, "scripts"),
        ("<a onclick='x({{.Name}})'>", 1, "scripts"),
        ("<script type=module>{{.Name}}</script>", 1, "scripts"),
        ("<script type=''>{{.Name}}</script>", 1, "scripts"),
        ("<script type='text/java{{.Name}}'>{{.Name}}</script>", 1, "scripts"),
        ("<script type='text/javascript' type='application/json'>{{.Name}}</script>", 1, "scripts"),
        ("<script type='application/json'>{\"a\": /* b */ {{.Name}}}</script>", 1, "scripts"),
        ("<script type='application/json'>{\"a\": \"\\{{.Name}}\"}</script>", 1, "backslash"),
        ("{{$x}}", 1, "undefined variable $x"),
    ] {
        let error = render(source, Format::Html).unwrap_err();
        assert!(error.reason.contains(reason), "{source}: {error}");
        assert_eq!(error.line, line, "{source}: {error}");
    }
}

#[test]
fn endless_templates_are_stopped() {
    let nested = "{{range $.Items}}".repeat(20) + "x" + &"{{end}}".repeat(20);
    assert!(render(&nested, Format::Text).unwrap_err().reason.contains("too much"));
    let recursive = "{{define \"a\"}}{{template \"a\" .}}{{end}}{{template \"a\" .}}";
    assert!(render(recursive, Format::Text).unwrap_err().reason.contains("too deeply"));
    let deep = "{{if .Yes}}".repeat(1000);
    assert!(Template::parse(&deep, Format::Text).unwrap_err().reason.contains("levels"));
    let parentheses = format!("{{{{{}}}}}", "(".repeat(100_000));
    assert!(Template::parse(&parentheses, Format::Text).unwrap_err().reason.contains("levels"));
}

proptest! {
    #[test]
    fn no_source_panics(source in "([{}<>\"'=a-z.$|( ):`/!-]|\\{\\{|\\}\\}|if |end|range |é)*") {
        for format in [Format::Text, Format::Html] {
            let _ = Template::parse(&source, format).map(|template| template.render(&data()));
        }
    }

    #[test]
    fn no_value_opens_an_element_or_leaves_an_attribute(value in "[ -~]*") {
        let template = Template::parse("<p title=\"{{.}}\">{{.}}</p><a href='{{.}}'></a>", Format::Html).unwrap();
        let html = template.render(&Value::String(value)).unwrap();
        prop_assert_eq!(html.matches('<').count(), 4);
        prop_assert_eq!(html.matches('>').count(), 4);
        prop_assert_eq!(html.matches('"').count(), 2);
        prop_assert_eq!(html.matches('\'').count(), 2);
    }

    #[test]
    fn no_value_leaves_the_json_of_a_script(value in "\\PC*|[ -~\n\t\u{2028}]*") {
        let source = "<script type=\"application/ld+json\">{\"a\": {{.}}, \"b\": \"{{.}}\"}</script>";
        let template = Template::parse(source, Format::Html).unwrap();
        let html = template.render(&Value::String(value.clone())).unwrap();
        prop_assert_eq!(html.matches('<').count(), 2);
        let json = &html[html.find('{').unwrap()..html.rfind("</").unwrap()];
        let read: serde_json::Value = serde_json::from_str(json).unwrap();
        prop_assert_eq!((&read["a"], &read["b"]), (&serde_json::json!(value), &serde_json::json!(value)));
    }
}
