//! Every (tile, k) is done exactly once, whatever the shape, the device and the options.

use proptest::prelude::*;
use std::collections::HashMap;
use warpwright_schedulers::{
    GroupTiles, TileScheduler, TileSpace, Tiles, Uniform, decompose, scheduler, tile_at, tile_number,
};
use warpwright_spec::{RasterOrder, SchedulerId, Work};

fn raster() -> impl Strategy<Value = RasterOrder> {
    prop_oneof![Just(RasterOrder::AlongM), Just(RasterOrder::AlongN)]
}

fn space() -> impl Strategy<Value = TileSpace> {
    (0..9usize, 0..9usize, 0..40usize, 0..4usize, 1..20usize, raster(), 1..9usize, 1..6usize).prop_map(
        |(m, n, k, groups, wave, raster, swizzle, splits)| TileSpace {
            tiles: Tiles { m, n, k },
            groups,
            wave,
            raster,
            swizzle,
            splits,
        },
    )
}

/// All works, in an order in which one processor alone could do them: block by block.
fn all_works(s: &dyn TileScheduler, space: &TileSpace, groups: &dyn GroupTiles) -> Vec<(usize, Work)> {
    (0..s.blocks(space)).flat_map(|b| s.works(space, groups, b).map(move |w| (b, w)).collect::<Vec<_>>()).collect()
}

fn covers(s: &dyn TileScheduler, space: &TileSpace, groups: &dyn GroupTiles) -> Result<(), TestCaseError> {
    let mut parts: HashMap<(usize, usize, usize), Vec<Work>> = HashMap::new();
    let mut slots: HashMap<usize, (usize, usize, usize)> = HashMap::new();
    for (_, w) in all_works(s, space, groups) {
        prop_assert!(w.valid);
        let tile = (w.group, w.tile_m, w.tile_n);
        let before = parts.entry(tile).or_default();
        // A lower split has been met before: nobody waits for a later block or work.
        prop_assert_eq!(w.split, before.len());
        prop_assert_eq!(w.k_begin, before.iter().map(|p| p.k_count).sum::<usize>());
        before.push(w);
        if !w.whole {
            let slot = s.slot(space, &w);
            prop_assert!(slot < s.slots(space));
            prop_assert_eq!(*slots.entry(slot).or_insert(tile), tile);
        }
    }
    for group in 0..space.groups {
        let own = groups.tiles(group);
        for m in 0..own.m {
            for n in 0..own.n {
                let tile = parts.remove(&(group, m, n)).unwrap_or_default();
                prop_assert_eq!(tile.iter().map(|p| p.k_count).sum::<usize>(), own.k);
                prop_assert_eq!(tile.iter().filter(|p| p.last).count(), 1);
                prop_assert!(tile.last().is_some_and(|p| p.last));
                prop_assert_eq!(tile.iter().all(|p| p.whole), tile.len() == 1);
                prop_assert!(tile.len() == 1 || tile.iter().all(|p| p.k_count > 0 && !p.whole));
            }
        }
    }
    prop_assert!(parts.is_empty());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn uniform_problems(space in space()) {
        for id in SchedulerId::ALL {
            covers(scheduler(*id), &space, &Uniform(space.tiles))?;
        }
    }

    #[test]
    fn groups_of_their_own_extents(
        groups in prop::collection::vec((0..6usize, 0..6usize, 0..9usize), 0..12), wave in 1..9usize, raster in raster(), swizzle in 1..5usize,
    ) {
        let groups: Vec<Tiles> = groups.into_iter().map(|(m, n, k)| Tiles { m, n, k }).collect();
        let most = |f: fn(&Tiles) -> usize| groups.iter().map(f).max().unwrap_or(0);
        let tiles = Tiles { m: most(|t| t.m), n: most(|t| t.n), k: most(|t| t.k) };
        let space = TileSpace { tiles, groups: groups.len(), wave, raster, swizzle, splits: 1 };
        for id in [SchedulerId::SINGLE_TILE, SchedulerId::PERSISTENT, SchedulerId::SPLIT_K, SchedulerId::SPLIT_K_SERIAL, SchedulerId::GROUPED] {
            covers(scheduler(id), &space, &groups)?;
        }
    }

    #[test]
    fn the_order_visits_every_tile_once(m in 0..20usize, n in 0..20usize, swizzle in 0..30usize, raster in raster()) {
        let mut seen = vec![false; m * n];
        for i in 0..m * n {
            let (tm, tn) = tile_at(i, m, n, swizzle, raster);
            prop_assert!(tm < m && tn < n);
            prop_assert!(!std::mem::replace(&mut seen[tm * n + tn], true));
            prop_assert_eq!(tile_number(tm, tn, m, n, swizzle, raster), i);
        }
    }

    #[test]
    fn stream_k_is_balanced_and_splits_at_most_two_waves(space in space()) {
        let d = decompose(&space);
        prop_assert!(d.split_tiles < 2 * space.wave.max(1));
        prop_assert!(d.whole_tiles.is_multiple_of(space.wave) || d.split_tiles == 0);
        prop_assert!(d.blocks <= space.wave);
        if d.split_tiles > 0 {
            let s = scheduler(SchedulerId::STREAM_K);
            let k = |b| s.works(&space, &Uniform(space.tiles), b).map(|w| w.k_count).sum::<usize>();
            let of_units: Vec<usize> = (0..d.units).map(k).collect();
            let (least, most) = (of_units.iter().min().unwrap(), of_units.iter().max().unwrap());
            prop_assert!(most - least <= 1 + space.tiles.k * usize::from(!d.whole_tiles.is_multiple_of(d.blocks)));
        }
    }
}

#[test]
fn stream_k_splits_what_a_wave_leaves_over() {
    let space = TileSpace {
        tiles: Tiles { m: 3, n: 3, k: 32 },
        groups: 1,
        wave: 4,
        raster: RasterOrder::AlongM,
        swizzle: 1,
        splits: 1,
    };
    let d = decompose(&space);
    assert_eq!((d.split_tiles, d.units, d.whole_tiles), (5, 4, 4));
    let works: Vec<_> = scheduler(SchedulerId::STREAM_K).works(&space, &Uniform(space.tiles), 1).collect();
    // 160 K tiles over 4 blocks: block 1 has 40 to 80, the rest of tile 1 and half of tile 2, then one whole tile.
    let parts: Vec<_> =
        works.iter().map(|w| (w.tile_m + 3 * w.tile_n, w.k_begin, w.k_count, w.split, w.last)).collect();
    assert_eq!(parts, [(2, 0, 16, 0, false), (1, 8, 24, 1, true), (6, 0, 32, 0, true)]);
}

#[test]
fn the_workspace_of_a_transposed_plan_has_a_slot_for_each_tile_that_is_launched() {
    // 264 x 136 in tiles of 128 x 32: 3 x 5 tiles one way round, 2 x 9 the other.
    for (m, n, slots) in [(3, 5, 15), (2, 9, 18)] {
        let space = TileSpace {
            tiles: Tiles { m, n, k: 8 },
            groups: 1,
            wave: 4,
            raster: RasterOrder::AlongM,
            swizzle: 1,
            splits: 4,
        };
        let s = scheduler(SchedulerId::SPLIT_K);
        let regions = s.workspace(&space, 128 * 32 * 4);
        assert_eq!((regions.slots, s.blocks(&space)), (slots, slots * 4));
        // Each part has its place, or one place is added to four times.
        assert!(regions.bytes >= slots * (4 * 128 * 32 * 4 + 4));
        assert!(
            scheduler(SchedulerId::SPLIT_K_SERIAL).workspace(&space, 128 * 32 * 4).bytes >= slots * (128 * 32 * 4 + 4)
        );
        let used = all_works(s, &space, &Uniform(space.tiles)).iter().map(|(_, w)| s.slot(&space, w)).max();
        assert_eq!(used, Some(slots - 1));
    }
}

#[test]
fn an_evened_walk_takes_as_many_waves_with_fewer_blocks() {
    let space = |m, n, wave| {
        let tiles = Tiles { m, n, k: 128 };
        TileSpace { tiles, groups: 1, wave, raster: RasterOrder::AlongM, swizzle: 8, splits: 1 }
    };
    // 8192 cubed in tiles of 128x256, 128x192 and 256x192 on 132 SMs, in pairs too; and what has few waves.
    for (m, n, wave, blocks) in [
        (64, 32, 132, 128),
        (64, 43, 132, 132),
        (32, 43, 132, 126),
        (16, 43, 66, 63),
        (20, 13, 132, 132),
        (2, 3, 132, 6),
    ] {
        let (given, evened) = (space(m, n, wave), space(m, n, wave).evened());
        assert_eq!(warpwright_spec::Persistent.blocks(&evened), blocks, "{m} x {n}");
        assert_eq!(evened.total().div_ceil(evened.wave), given.total().div_ceil(given.wave));
        assert_eq!(evened.evened(), evened);
    }
}

/// Devices number the K tiles of split tiles in 32 bits.
#[test]
fn stream_k_splits_no_more_k_tiles_than_32_bits_count() {
    let space = |k| TileSpace {
        tiles: Tiles { m: 3, n: 1, k },
        groups: 1,
        wave: 2,
        raster: RasterOrder::AlongM,
        swizzle: 1,
        splits: 1,
    };
    let most = u32::MAX as usize / 3;
    assert_eq!(decompose(&space(most)).split_tiles, 3);
    assert_eq!(decompose(&space(most + 1)).split_tiles, 0);
}
