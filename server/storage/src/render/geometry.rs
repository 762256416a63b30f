//! The part of a picture that is returned, and its size. The rules are those of imgproxy, which upstream renders with:
//! a picture is never enlarged, offsets and the names of gravity are its own.

use image::metadata::Orientation;

use super::options::{Anchor, Gravity, Options, Resize};

/// The largest result of a request that names no size, as upstream's imgproxy is set up; nothing becomes higher.
const MAX_WIDTH: u32 = 3000;
const MAX_HEIGHT: u32 = 8192;

/// A part of a picture, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// The plan for a picture: `area` of it is resized to `size`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Plan {
    pub(crate) area: Area,
    pub(crate) size: (u32, u32),
}

impl Plan {
    /// Returns the plan for an upright picture of size `source` with `options`. `find_focus` returns the middle of the
    /// most interesting part, given the size of the part that will be left; both as fractions of width and height.
    pub(crate) fn new(
        source: (u32, u32),
        options: &Options,
        find_focus: impl FnOnce(f64, f64) -> (f64, f64),
    ) -> Self {
        let (width, height) = (f64::from(source.0), f64::from(source.1));
        let (scaled_width, scaled_height) = scaled_size(source, options);
        let scaled = bounded_size((scaled_width, scaled_height), options);
        let whole = Area { left: 0.0, top: 0.0, width, height };
        let (Resize::Cover, Some(wanted_width), Some(wanted_height)) =
            (options.resize, options.width, options.height)
        else {
            return Self { area: whole, size: scaled };
        };
        let size = (wanted_width.min(scaled.0), wanted_height.min(scaled.1));
        let (left, top) = position(scaled, size, options.gravity, find_focus);
        // Back to the pixels of the source; those outside of the area are then not processed at all.
        let (shrink_x, shrink_y) = (width / f64::from(scaled.0), height / f64::from(scaled.1));
        let area = Area {
            left: left * shrink_x,
            top: top * shrink_y,
            width: (f64::from(size.0) * shrink_x).min(width),
            height: (f64::from(size.1) * shrink_y).min(height),
        };
        Self { area, size }
    }

    /// Returns the plan for a picture that is stored in another way than upright, whose upright size is `source`. Its
    /// result is to be turned.
    pub(crate) fn before(self, orientation: Orientation, source: (u32, u32)) -> Self {
        let Area { left, top, width, height } = self.area;
        let (from_right, from_bottom) =
            (f64::from(source.0) - left - width, f64::from(source.1) - top - height);
        let (left, top) = match orientation {
            Orientation::NoTransforms => (left, top),
            Orientation::FlipHorizontal => (from_right, top),
            Orientation::Rotate180 => (from_right, from_bottom),
            Orientation::FlipVertical => (left, from_bottom),
            Orientation::Rotate90FlipH => (top, left),
            Orientation::Rotate90 => (top, from_right),
            Orientation::Rotate270FlipH => (from_bottom, from_right),
            Orientation::Rotate270 => (from_bottom, left),
        };
        match is_turned(orientation) {
            true => Self {
                area: Area { left, top, width: height, height: width },
                size: (self.size.1, self.size.0),
            },
            false => Self { area: Area { left, top, width, height }, size: self.size },
        }
    }
}

/// Returns the size of a picture that is stored with size `stored`, once it is upright.
pub(crate) const fn upright(stored: (u32, u32), orientation: Orientation) -> (u32, u32) {
    if is_turned(orientation) { (stored.1, stored.0) } else { stored }
}

const fn is_turned(orientation: Orientation) -> bool {
    matches!(
        orientation,
        Orientation::Rotate90
            | Orientation::Rotate270
            | Orientation::Rotate90FlipH
            | Orientation::Rotate270FlipH
    )
}

/// Returns the size of the whole picture before it is cropped.
fn scaled_size(source: (u32, u32), options: &Options) -> (f64, f64) {
    let (width, height) = (f64::from(source.0), f64::from(source.1));
    let shrink_x = options.width.map(|wanted| width / f64::from(wanted));
    let shrink_y = options.height.map(|wanted| height / f64::from(wanted));
    let (x, y) = match (shrink_x, shrink_y, options.resize) {
        (None, None, _) => (1.0, 1.0),
        (Some(shrink), None, _) | (None, Some(shrink), _) => (shrink, shrink),
        (Some(x), Some(y), Resize::Cover) => (x.min(y), x.min(y)),
        (Some(x), Some(y), Resize::Contain) => (x.max(y), x.max(y)),
        (Some(x), Some(y), Resize::Fill) => (x, y),
    };
    // No side is enlarged: the other one is reduced instead, so that the ratio is the requested one.
    let (x, y) = if x < 1.0 { (1.0, y / x) } else { (x, y) };
    let (x, y) = if y < 1.0 { (x / y, 1.0) } else { (x, y) };
    (width / x, height / y)
}

fn bounded_size((width, height): (f64, f64), options: &Options) -> (u32, u32) {
    let max_width = f64::from(options.width.unwrap_or(0).max(MAX_WIDTH));
    let shrink = match options.resize {
        // The rest is cut off.
        Resize::Cover if options.width.is_some() && options.height.is_some() => 1.0,
        _ => (width / max_width).max(height / f64::from(MAX_HEIGHT)).max(1.0),
    };
    let whole = |length: f64| (length / shrink).round().max(1.0) as u32;
    (whole(width), whole(height))
}

/// Returns left and top of a part of size `part` in a picture of size `whole`.
fn position(
    whole: (u32, u32),
    part: (u32, u32),
    gravity: Option<Gravity>,
    find_focus: impl FnOnce(f64, f64) -> (f64, f64),
) -> (f64, f64) {
    let (free_x, free_y) = (f64::from(whole.0 - part.0), f64::from(whole.1 - part.1));
    if free_x + free_y == 0.0 {
        return (0.0, 0.0);
    }
    let (width, height) = (f64::from(whole.0), f64::from(whole.1));
    let around = |x: f64, y: f64| {
        let middle = (f64::from(part.0) / 2.0, f64::from(part.1) / 2.0);
        ((x * width - middle.0).round(), (y * height - middle.1).round())
    };
    let Gravity { anchor, x, y } = gravity.unwrap_or(Gravity { anchor: Anchor::Centre, x: None, y: None });
    let (x, y) = (x.unwrap_or_default(), y.unwrap_or_default());
    let offset =
        |offset: f64, length: f64| (if offset.abs() < 1.0 { offset * length } else { offset }).round();
    let (right, down) = (offset(x, width), offset(y, height));
    let (centre_x, centre_y) = ((free_x / 2.0).round(), (free_y / 2.0).round());
    let (left, top) = match anchor {
        Anchor::Smart => {
            let focus = find_focus(f64::from(part.0) / width, f64::from(part.1) / height);
            around(focus.0, focus.1)
        }
        Anchor::Point => around(x, y),
        Anchor::Centre => (centre_x + right, centre_y + down),
        Anchor::North => (centre_x + right, down),
        Anchor::South => (centre_x + right, free_y - down),
        Anchor::East => (free_x - right, centre_y + down),
        Anchor::West => (right, centre_y + down),
        Anchor::NorthEast => (free_x - right, down),
        Anchor::NorthWest => (right, down),
        Anchor::SouthEast => (free_x - right, free_y - down),
        Anchor::SouthWest => (right, free_y - down),
    };
    (left.clamp(0.0, free_x), top.clamp(0.0, free_y))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(source: (u32, u32), width: u32, height: u32, resize: Resize, gravity: Option<Gravity>) -> Plan {
        let size = |size: u32| Some(size).filter(|size| *size > 0);
        let options =
            Options { width: size(width), height: size(height), resize, gravity, ..Options::default() };
        Plan::new(source, &options, |_, _| (1.0, 1.0))
    }

    fn size(source: (u32, u32), width: u32, height: u32, resize: Resize) -> (u32, u32) {
        plan(source, width, height, resize, None).size
    }

    #[test]
    fn sizes_follow_the_kind_of_resizing() {
        use Resize::{Contain, Cover, Fill};
        assert_eq!(size((400, 200), 100, 100, Cover), (100, 100));
        assert_eq!(size((400, 200), 100, 100, Contain), (100, 50));
        assert_eq!(size((400, 200), 100, 100, Fill), (100, 100));
        for resize in [Cover, Contain, Fill] {
            assert_eq!(size((400, 200), 100, 0, resize), (100, 50), "{resize:?}");
            assert_eq!(size((400, 200), 0, 100, resize), (200, 100), "{resize:?}");
            assert_eq!(size((400, 200), 0, 0, resize), (400, 200), "{resize:?}");
            assert_eq!(size((400, 200), 900, 0, resize), (400, 200), "{resize:?}");
        }
        assert_eq!(size((3, 2000), 1, 0, Cover), (1, 667));
        assert_eq!(size((1, 9000), 0, 0, Cover), (1, 8192));
        assert_eq!(size((6000, 3000), 0, 0, Cover), (3000, 1500));
    }

    #[test]
    fn nothing_is_enlarged() {
        use Resize::{Contain, Cover, Fill};
        assert_eq!(size((100, 100), 200, 50, Cover), (100, 50));
        assert_eq!(size((100, 100), 200, 300, Contain), (100, 100));
        assert_eq!(size((100, 100), 200, 50, Fill), (100, 25), "the ratio asked for");
    }

    #[test]
    fn gravity_says_what_is_left() {
        let at = |anchor, x, y| {
            let area = plan((400, 200), 50, 50, Resize::Cover, Some(Gravity { anchor, x, y })).area;
            assert_eq!((area.top, area.width, area.height), (0.0, 200.0, 200.0));
            area.left
        };
        assert_eq!(plan((400, 200), 50, 50, Resize::Cover, None).area.left, 100.0);
        assert_eq!(at(Anchor::West, None, None), 0.0);
        assert_eq!(at(Anchor::East, None, None), 200.0);
        assert_eq!(at(Anchor::NorthWest, Some(10.0), Some(10.0)), 40.0, "10 pixels of the result");
        assert_eq!(at(Anchor::SouthEast, Some(0.1), None), 160.0, "a tenth of the width");
        assert_eq!(at(Anchor::Centre, Some(-10.0), None), 60.0);
        assert_eq!(at(Anchor::Centre, Some(999.0), None), 200.0);
        assert_eq!(at(Anchor::Point, Some(0.25), Some(0.0)), 0.0);
        assert_eq!(at(Anchor::Point, Some(0.6), Some(0.0)), 140.0);
        assert_eq!(at(Anchor::Smart, None, None), 200.0);
    }

    #[test]
    fn a_part_is_the_same_however_the_picture_is_stored() {
        // A picture of four different quarters, of which the upper left one is asked for.
        let stored = image::RgbImage::from_fn(4, 2, |x, y| image::Rgb([x as u8 / 2, y as u8, 9]));
        for orientation in (1..=8).map(|code| Orientation::from_exif(code).unwrap()) {
            let mut turned = image::DynamicImage::ImageRgb8(stored.clone());
            turned.apply_orientation(orientation);
            let turned = turned.into_rgb8();
            let source = upright((4, 2), orientation);
            assert_eq!(turned.dimensions(), source);
            let (width, height) = (f64::from(source.0) / 2.0, f64::from(source.1) / 2.0);
            let area = Area { left: 0.0, top: 0.0, width, height };
            let plan = Plan { area, size: (width as u32, height as u32) }.before(orientation, source);
            let (x, y) = (plan.area.left as u32, plan.area.top as u32);
            assert_eq!(stored.get_pixel(x, y), turned.get_pixel(0, 0), "{orientation:?}");
            assert_eq!((plan.area.width, plan.area.height), (2.0, 1.0), "{orientation:?}");
            assert_eq!(plan.size, (2, 1), "{orientation:?}");
        }
    }
}
