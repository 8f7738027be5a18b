//! The linear order of a plane's tiles.

use warpwright_spec::RasterOrder;

/// Tile number `linear` of a plane of `tiles_m` x `tiles_n` tiles, as (m, n).
///
/// The walk is in bands of `swizzle` tiles. Along M a band is that many columns of tiles, visited row by row: consecutive
/// tiles differ in N within the band, then M advances. Along N rows and columns change places. The last band is as narrow as
/// what is left, so no tile outside the plane is ever named. With `swizzle` 1, along M is column by column.
///
/// ```text
/// along  = tiles_m or tiles_n                     the mode that is walked along
/// across = the other one
/// band   = linear / (swizzle * along)
/// width  = min(swizzle, across - band * swizzle)
/// within = linear - band * swizzle * along
/// (position along, position across) = (within / width, band * swizzle + within % width)
/// ```
///
/// `linear` must be below `tiles_m * tiles_n`; beyond, and for empty planes, the result is (0, 0).
pub fn tile_at(linear: usize, tiles_m: usize, tiles_n: usize, swizzle: usize, raster: RasterOrder) -> (usize, usize) {
    if linear >= tiles_m.saturating_mul(tiles_n) {
        return (0, 0);
    }
    let (along, across) = match raster {
        RasterOrder::AlongM => (tiles_m, tiles_n),
        RasterOrder::AlongN => (tiles_n, tiles_m),
    };
    let swizzle = swizzle.clamp(1, across);
    let band = linear / (swizzle * along);
    let width = swizzle.min(across - band * swizzle);
    let within = linear - band * swizzle * along;
    let (position, lane) = (within / width, band * swizzle + within % width);
    match raster {
        RasterOrder::AlongM => (position, lane),
        RasterOrder::AlongN => (lane, position),
    }
}

/// The number of a tile: the inverse of [`tile_at`].
pub fn tile_number(m: usize, n: usize, tiles_m: usize, tiles_n: usize, swizzle: usize, raster: RasterOrder) -> usize {
    let ((position, along), (lane, across)) = match raster {
        RasterOrder::AlongM => ((m, tiles_m), (n, tiles_n)),
        RasterOrder::AlongN => ((n, tiles_n), (m, tiles_m)),
    };
    if position >= along || lane >= across {
        return 0;
    }
    let swizzle = swizzle.clamp(1, across);
    let first = lane / swizzle * swizzle;
    first * along + position * swizzle.min(across - first) + lane - first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_of_two_columns_along_m() {
        let walk: Vec<_> = (0..6).map(|i| tile_at(i, 2, 3, 2, RasterOrder::AlongM)).collect();
        assert_eq!(walk, [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (1, 2)]);
        let walk: Vec<_> = (0..6).map(|i| tile_at(i, 3, 2, 2, RasterOrder::AlongN)).collect();
        assert_eq!(walk, [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)]);
    }

    #[test]
    fn empty_planes_divide_by_nothing() {
        for raster in [RasterOrder::AlongM, RasterOrder::AlongN] {
            assert_eq!(tile_at(0, 0, 5, 4, raster), (0, 0));
            assert_eq!(tile_at(7, 0, 0, 0, raster), (0, 0));
        }
    }
}
