//! Races through the built command, on the host.

use crate::common::Folder;

const FAST: &str = "--device host --rounds 2";

#[test]
fn every_candidate_is_in_the_ranked_table() {
    let folder = Folder::new();
    let text = folder.ok(&format!("profile --shape 96x80x64 --tile 64x64x32,32x64x32 --stages 2,3 {FAST}")).stdout;
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some("96x80x64 (M x N x K), bf16 x bf16 into bf16, A row, B column, D row, on CPU"),
        "{text}"
    );
    assert!(lines.next().unwrap().starts_with("medians of 2 interleaved rounds, "), "{text}");
    assert!(lines.next().unwrap().contains("median us"), "{text}");
    let places: Vec<&str> = lines.clone().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(places, ["1", "2", "3", "4", "5"], "{text}");
    for label in ["auto", "64x64x32 2 stages", "64x64x32 3 stages", "32x64x32 2 stages", "32x64x32 3 stages"] {
        assert_eq!(lines.clone().filter(|line| line.contains(label)).count(), 1, "{label}: {text}");
    }
}

#[test]
fn json_csv_and_page_hold_the_same_races() {
    let folder = Folder::new();
    let call = format!(
        "profile --shape 64x48x32,40x24x16 --type f16,i8 --tile 64x64x32 --csv t.csv --html t.html --json --seed 7 {FAST}"
    );
    let json = folder.ok(&call).json();
    assert_eq!((json["device"].as_str(), &json["baseline"]), (Some("CPU"), &serde_json::Value::Null));
    let races = json["races"].as_array().unwrap();
    assert_eq!(races.len(), 4);
    let titles: Vec<String> = races.iter().map(|race| format!("{} {}", race["type_a"], race["name"])).collect();
    assert_eq!(titles, ["\"f16\" \"64x48x32\"", "\"f16\" \"40x24x16\"", "\"i8\" \"64x48x32\"", "\"i8\" \"40x24x16\""]);
    for race in races {
        let rows = race["rows"].as_array().unwrap();
        assert_eq!((rows.len(), race["seed"].as_u64(), race["rounds"].as_u64()), (2, Some(7), Some(2)), "{race}");
        let times: Vec<f64> = rows.iter().map(|row| row["median_us"].as_f64().unwrap()).collect();
        assert!(times[0] > 0.0 && times[0] <= times[1], "{race}");
        assert!(rows.iter().all(|row| row["least_us"].as_f64() <= row["median_us"].as_f64()), "{race}");
        assert!(rows.iter().all(|row| row["kernel"].as_str().unwrap().starts_with("ww_")), "{race}");
        // The CPU has neither cuBLASLt nor a model of its time.
        assert!(rows.iter().all(|row| row["ratio"].is_null() && row["predicted_us"].is_null()), "{race}");
    }
    let csv = std::fs::read_to_string(folder.path("t.csv")).unwrap();
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 1 + 8);
    assert!(lines.iter().all(|fields| fields.len() == lines[0].len()), "{csv}");
    let column = |name: &str| lines[0].iter().position(|head| *head == name).unwrap();
    assert_eq!((lines[1][column("m")], lines[1][column("type_a")], lines[1][column("rank")]), ("64", "f16", "1"));
    let median: f64 = lines[1][column("median_us")].parse().unwrap();
    assert!((median - races[0]["rows"][0]["median_us"].as_f64().unwrap()).abs() < 1e-3, "{csv}");
    let page = std::fs::read_to_string(folder.path("t.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</body></html>\n"));
    assert_eq!((page.matches("<svg").count(), page.matches("</svg>").count()), (4, 4), "{page}");
    assert!(!page.contains("<script") && !page.contains("http"), "{page}");
    for tag in ["table", "p", "h2", "text", "tr", "td"] {
        assert_eq!(
            page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count(),
            page.matches(&format!("</{tag}>")).count(),
            "{tag}: {page}"
        );
    }
}

#[test]
fn several_problems_end_in_a_summary() {
    let folder = Folder::new();
    let text = folder.ok(&format!("profile --shape 64x48x32,40x24x16 --top 2 {FAST}")).stdout;
    assert_eq!(text.matches("interleaved rounds").count(), 2, "{text}");
    assert!(text.contains("best kernel") && text.contains("64x48x32 bf16 -> bf16"), "{text}");
    let short = folder.ok(&format!("profile --summary --shape 64x48x32 --top 2 {FAST}")).stdout;
    assert_eq!((short.lines().count(), short.contains("interleaved rounds")), (2, false), "{short}");
}

#[test]
fn a_candidate_that_breaks_a_rule_is_told_beside_those_that_race() {
    let folder = Folder::new();
    let text = folder.ok(&format!("profile --shape 64x48x32 --stages 3,99 {FAST}")).stdout;
    assert!(text.contains("  - 99 stages: Auto needs 2 to 8 stages"), "{text}");
    assert!(text.contains(" 3 stages"), "{text}");
}

#[test]
fn a_problem_that_cannot_be_raced_does_not_stop_the_others_but_is_told() {
    let folder = Folder::new();
    let outcome = folder.run(&format!("profile --shape 64x48x32,0x8x8 {FAST}"));
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("1 x 0x8x8 has no elements"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("interleaved rounds"), "{}", outcome.stdout);
}

#[test]
fn a_race_that_nobody_can_start_is_told_by_the_exit_code() {
    let folder = Folder::new();
    // Rows of 17 4-bit elements start inside a byte.
    let outcome = folder.run(&format!("profile --shape 32x32x17 --type e2m1 {FAST}"));
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("  - auto: A of e2m1 has lines that start inside a byte"), "{}", outcome.stdout);
}

#[test]
fn operands_that_no_machine_holds_are_refused() {
    let folder = Folder::new();
    let outcome = folder.run(&format!("profile --shape 33554432x1x33554432 {FAST}"));
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("the host has no 2251799813685248 bytes free: use smaller"), "{}", outcome.stderr);
}

#[test]
fn outputs_are_judged_by_their_own_rounding() {
    let folder = Folder::new();
    for d in ["i8", "u8", "i4", "e2m1", "e3m2"] {
        let text = folder.ok(&format!("profile --shape 33x24x17 --type f16 --output-type {d} {FAST}")).stdout;
        assert!(text.contains("  1 auto"), "{d}: {text}");
    }
}

#[test]
fn batches_orders_and_types_are_raced() {
    let folder = Folder::new();
    let call = "profile --shape 33x20x17 --batch 3 --order-a column --order-b row --order-d column --type e4m3 \
                --type-b e5m2 --output-type f32 --fast-accumulation --json";
    let json = folder.ok(&format!("{call} {FAST}")).json();
    let race = &json["races"][0];
    assert_eq!(
        (race["batch"].as_u64(), race["type_b"].as_str(), race["type_d"].as_str(), race["order_d"].as_str()),
        (Some(3), Some("e5m2"), Some("f32"), Some("column"))
    );
    assert_eq!((race["rows"].as_array().unwrap().len(), race["refused"].as_array().unwrap().len()), (1, 0), "{race}");
}

#[test]
fn what_wins_is_remembered_and_planned() {
    let folder = Folder::new();
    let call = format!("profile --shape 256x256x64 --tune 4 --arch sm80 {FAST}");
    let text = folder.ok(&call).stdout;
    let remembered = text.lines().last().unwrap().strip_prefix("remembered: Multistage ").unwrap();
    let tile = remembered.split_whitespace().next().unwrap();
    let plan = folder.ok("plan --shape 256x256x64 --type-a bf16 --order-b column --arch sm80 --device host").stdout;
    assert!(
        plan.contains(&format!("tile       {tile}")) && plan.contains("\n  tuned      the fastest"),
        "{tile}: {plan}"
    );
    let other = folder.ok("plan --shape 256x256x128 --type-a bf16 --order-b column --arch sm80 --device host").stdout;
    assert!(!other.contains("tuned"), "{other}");
    // A file that is torn is told of once, and the model decides.
    folder.write("cache/tuning.json", b"{");
    let plan = folder.run("plan --shape 256x256x64 --type-a bf16 --order-b column --arch sm80 --device host");
    assert_eq!(plan.code, Some(0), "{}", plan.stderr);
    assert_eq!(plan.stderr.matches("tuning.json is not a file of winners").count(), 1, "{}", plan.stderr);
    assert!(!plan.stdout.contains("tuned"), "{}", plan.stdout);
}
