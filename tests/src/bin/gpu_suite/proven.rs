//! Which generated sources passed on a GPU.

use std::collections::BTreeMap;
use std::path::Path;
use warpwright::{Device, KernelPlan};
use warpwright_tests::library;

/// Hashes of generated sources that passed, with the kernels' names.
#[derive(Default)]
pub struct Proven(BTreeMap<String, String>);

impl Proven {
    /// A case that ran these plans was right.
    pub fn passed(&mut self, plans: &[KernelPlan]) {
        for plan in plans {
            let sources = library::sources(plan).into_iter();
            self.0.extend(sources.map(|(name, source)| (library::text_hash(&source), name)));
        }
    }

    /// Writes `proven.json` and says how many kernels it lists.
    pub fn write(&self, folder: &Path, device: &Device) -> Result<usize, String> {
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let kernels: Vec<_> =
            self.0.iter().map(|(hash, name)| serde_json::json!({ "source": hash, "name": name })).collect();
        let since = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |t| t.as_secs());
        let json = serde_json::json!({
            "device": device.name(),
            "date": date(since),
            "kernels": kernels,
        });
        let text = serde_json::to_string_pretty(&json).map_err(|e| e.to_string())?;
        std::fs::write(folder.join("proven.json"), text + "\n").map_err(|e| e.to_string())?;
        Ok(self.0.len())
    }
}

/// `YYYY-MM-DD` of seconds since 1970, by the civil calendar's 400-year cycle.
fn date(seconds: u64) -> String {
    let days = (seconds / 86_400) as i64 + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}
