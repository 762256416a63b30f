//! How a picture is to be rendered: the options of a request, the list of them in `X-Transformations` and in tokens of
//! signed URLs. Names, spelling and order are upstream's, so that tokens of either service are valid at the other.

use std::fmt;
use std::ops::RangeInclusive;

use super::format::FormatChoice;

/// The values of `quality`.
pub(crate) const QUALITIES: RangeInclusive<u64> = 20..=100;

/// How a picture is to be rendered.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Options {
    /// Pixels; `None` follows from the height.
    pub(crate) width: Option<u32>,
    /// Pixels; `None` follows from the width.
    pub(crate) height: Option<u32>,
    pub(crate) resize: Resize,
    pub(crate) quality: Option<u8>,
    pub(crate) format: FormatChoice,
    pub(crate) gravity: Option<Gravity>,
}

::settings::words! {
    /// How a picture is resized to a width and a height that have another ratio.
    #[derive(Default)]
    pub(crate) enum Resize {
        /// Fills both, and what is outside of them is cut off.
        #[default]
        Cover = "cover",
        /// Fits into both.
        Contain = "contain",
        /// Has both, and another ratio than the source.
        Fill = "fill",
    }
}

impl Resize {
    /// Returns the word of imgproxy, upstream's renderer.
    const fn kind(self) -> &'static str {
        match self {
            Self::Cover => "fill",
            Self::Contain => "fit",
            Self::Fill => "force",
        }
    }
}

/// The part of a picture that is kept when it is cropped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Gravity {
    pub(crate) anchor: Anchor,
    /// Below 1 a part of the picture, else pixels; for [`Anchor::Point`] the point.
    pub(crate) x: Option<f64>,
    pub(crate) y: Option<f64>,
}

::settings::words! {
    /// The position of the part that is kept.
    pub(crate) enum Anchor {
        North = "no",
        South = "so",
        East = "ea",
        West = "we",
        NorthEast = "noea",
        NorthWest = "nowe",
        SouthEast = "soea",
        SouthWest = "sowe",
        Centre = "ce",
        /// Where the picture has the most detail.
        Smart = "sm",
        /// The point of the offsets.
        Point = "fp",
    }
}

impl fmt::Display for Gravity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gravity:{}", self.anchor.name())?;
        match (self.anchor, self.x, self.y) {
            (Anchor::Smart, ..) | (_, None, None) => Ok(()),
            (_, x, y) => write!(f, ":{}:{}", x.unwrap_or_default(), y.unwrap_or_default()),
        }
    }
}

/// The form of a list of options: it depends on who reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListForm {
    /// A reader of `X-Transformations`.
    Header,
    /// Either service, in the token of a signed URL.
    Token,
}

impl Options {
    /// Returns the options with width and height limited to `sizes`; 0 counts as not set.
    pub(crate) fn within(self, sizes: &RangeInclusive<u32>) -> Self {
        // Not `clamp`, which panics where an operator has set the least above the most.
        let clamped = |size: Option<u32>| {
            size.filter(|size| *size > 0).map(|size| size.min(*sizes.end()).max(*sizes.start()).max(1))
        };
        Self { width: clamped(self.width), height: clamped(self.height), ..self }
    }

    /// Returns the list of options, without those that have no effect.
    pub(crate) fn list(&self, form: ListForm) -> String {
        let mut list = Vec::new();
        list.extend(self.height.map(|height| format!("height:{height}")));
        list.extend(self.width.map(|width| format!("width:{width}")));
        if self.width.is_some() || self.height.is_some() {
            list.push(match form {
                ListForm::Header => format!("resizing_type:{}", self.resize.kind()),
                ListForm::Token => format!("resize:{}", self.resize.name()),
            });
        }
        list.extend(self.quality.map(|quality| format!("quality:{quality}")));
        list.extend(self.format.fixed().map(|format| format!("format:{}", format.name())));
        list.extend(self.gravity.map(|gravity| gravity.to_string()));
        list.join(",")
    }

    /// Reads the claims `transformations` and `format` of a token. Unknown values are ignored: the token is genuine, so
    /// another version of a service has written them.
    pub(crate) fn from_token(list: &str, format: &str) -> Self {
        let mut options = Self::default();
        for option in list.split(',') {
            let mut parts = option.split(':');
            let (name, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            match name {
                "height" => options.height = value.parse().ok(),
                "width" => options.width = value.parse().ok(),
                "resize" => options.resize = Resize::of_name(value).unwrap_or_default(),
                "quality" => options.quality = value.parse().ok(),
                "format" => options.format = FormatChoice::of_name(value).unwrap_or_default(),
                "gravity" => {
                    let mut offset = || parts.next()?.parse().ok().filter(|offset: &f64| offset.is_finite());
                    let (x, y) = (offset(), offset());
                    options.gravity = Anchor::of_name(value).map(|anchor| Gravity { anchor, x, y });
                }
                _ => {}
            }
        }
        // The list cannot distinguish the source's own format from none; upstream loses it here, too.
        if options.format == FormatChoice::Negotiated
            && FormatChoice::of_name(format) == Some(FormatChoice::Origin)
        {
            options.format = FormatChoice::Origin;
        }
        let (least, most) = (*QUALITIES.start() as u8, *QUALITIES.end() as u8);
        options.quality = options.quality.map(|quality| quality.clamp(least, most));
        options
    }
}

#[cfg(test)]
mod tests {
    use super::super::format::Format;
    use super::*;

    #[test]
    fn lists_have_upstreams_words_and_order() {
        let options = Options {
            width: Some(100),
            height: Some(100),
            quality: Some(80),
            format: FormatChoice::Fixed(Format::Webp),
            gravity: Some(Gravity { anchor: Anchor::Point, x: Some(0.0), y: Some(1.0) }),
            ..Options::default()
        };
        assert_eq!(
            options.list(ListForm::Header),
            "height:100,width:100,resizing_type:fill,quality:80,format:webp,gravity:fp:0:1"
        );
        let token = options.list(ListForm::Token);
        assert_eq!(token, "height:100,width:100,resize:cover,quality:80,format:webp,gravity:fp:0:1");
        assert_eq!(Options::from_token(&token, "webp"), options);
        assert_eq!(Options::default().list(ListForm::Header), "");
        let north = Gravity { anchor: Anchor::North, x: None, y: Some(-10.5) };
        assert_eq!(north.to_string(), "gravity:no:0:-10.5");
        let smart = Gravity { anchor: Anchor::Smart, x: Some(1.0), y: None };
        assert_eq!(smart.to_string(), "gravity:sm");
        for anchor in Anchor::ALL {
            assert_eq!(Anchor::of_name(anchor.name()), Some(anchor));
        }
    }

    #[test]
    fn tokens_of_upstream_are_read() {
        let options = Options::from_token("height:50,resize:undefined,gravity:sowe:0.25:10", "");
        let gravity = Gravity { anchor: Anchor::SouthWest, x: Some(0.25), y: Some(10.0) };
        assert_eq!(options, Options { height: Some(50), gravity: Some(gravity), ..Options::default() });
        assert_eq!(Options::from_token("", ""), Options::default());
        assert_eq!(Options::from_token("width:9", "origin").format, FormatChoice::Origin);
        assert_eq!(Options::from_token("width:x,,quality,quality:1:2,a:b", "").quality, Some(20));
    }

    #[test]
    fn sizes_are_clamped_and_nought_is_none() {
        let options = Options { width: Some(0), height: Some(9000), ..Options::default() };
        let clamped = options.within(&(1..=2000));
        assert_eq!((clamped.width, clamped.height), (None, Some(2000)));
    }
}
