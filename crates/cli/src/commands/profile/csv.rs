//! Every row as comma-separated values.

use super::report::{Race, Refused, Report, Row};

const HEAD: &str = "device,suite,name,m,n,k,batch,type_a,type_b,type_d,order_a,order_b,order_d,fast_accumulation,rounds,\
flush_bytes,seed,floor_us,rank,label,kernel,schedule,scheduler,tile_m,tile_n,tile_k,stages,splits,algorithm,median_us,least_us,greatest_us,\
tflops,ratio,predicted_us,refused";

/// The table, with a line for everyone who ran and everyone who did not.
pub fn text(report: &Report) -> String {
    let mut lines = vec![HEAD.to_owned()];
    for race in &report.races {
        lines.extend(race.rows.iter().map(|row| line(problem(report, race).into_iter().chain(ran(row)))));
        lines.extend(race.refused.iter().map(|who| line(problem(report, race).into_iter().chain(refused(who)))));
        lines.extend(race.failed.iter().map(|why| {
            let nobody = Refused { label: String::new(), reason: why.clone(), wrong: false };
            line(problem(report, race).into_iter().chain(refused(&nobody)))
        }));
    }
    lines.join("\n") + "\n"
}

fn problem(report: &Report, race: &Race) -> Vec<String> {
    let mut fields = vec![report.device.clone(), race.suite.clone().unwrap_or_default(), race.name.clone()];
    fields.extend([race.m, race.n, race.k, race.batch].map(|n| n.to_string()));
    fields.extend([race.type_a, race.type_b, race.type_d, race.order_a, race.order_b, race.order_d].map(str::to_owned));
    fields.push(race.fast_accumulation.to_string());
    fields.extend([race.rounds, race.flush_bytes].map(|n| n.to_string()));
    fields.push(race.seed.to_string());
    fields.push(race.floor_us.map_or(String::new(), |us| format!("{us:.4}")));
    fields
}

fn ran(row: &Row) -> Vec<String> {
    let mut fields = vec![row.rank.to_string(), row.label.clone(), row.kernel.clone().unwrap_or_default()];
    fields.extend([row.schedule, row.scheduler].map(|name| name.unwrap_or_default().to_owned()));
    fields.extend((0..3).map(|i| row.tile.map_or(String::new(), |tile| tile[i].to_string())));
    fields.extend([row.stages, row.splits, row.algorithm].map(|n| n.map_or(String::new(), |n| n.to_string())));
    fields.extend([row.median_us, row.least_us, row.greatest_us, row.tflops].map(|x| format!("{x:.4}")));
    fields.extend([row.ratio, row.predicted_us].map(|x| x.map_or(String::new(), |x| format!("{x:.4}"))));
    fields.push(String::new());
    fields
}

fn refused(who: &Refused) -> Vec<String> {
    let mut fields = vec![String::new(), who.label.clone()];
    fields.extend((0..15).map(|_| String::new()));
    fields.push(who.reason.clone());
    fields
}

fn line(fields: impl Iterator<Item = String>) -> String {
    fields.map(|field| quoted(&field)).collect::<Vec<_>>().join(",")
}

/// As RFC 4180 has it.
fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_a_field_for_every_head() {
        let count = HEAD.split(',').count();
        assert_eq!(problem_fields() + 18, count);
        assert_eq!(refused(&Refused { label: "x".into(), reason: "a, b".into(), wrong: false }).len(), 18);
    }

    #[test]
    fn rows_and_refusals_are_lines() {
        let text = text(&crate::commands::profile::report::sample::report());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 3 + 1 + 2 + 1);
        assert!(lines[1].contains(",1,cuBLASLt,,,,,,,,,2,160.0000,"), "{}", lines[1]);
        assert!(lines[4].ends_with(",D is wrong"), "{}", lines[4]);
    }

    fn problem_fields() -> usize {
        HEAD.split(',').position(|name| name == "rank").unwrap_or_default()
    }

    #[test]
    fn what_separates_is_quoted() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("a, \"b\""), "\"a, \"\"b\"\"\"");
    }
}
