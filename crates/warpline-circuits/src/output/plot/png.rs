//! Renders the SVG of a plot as PNG, for programs that show no SVG. The font is embedded, so that
//! no font need be installed.

use resvg::{
    tiny_skia::{Pixmap, Transform},
    usvg::{Options, Tree},
};

/// A rendering of an SVG document, at twice its size, as PNG; or why there is none.
pub(super) fn render(svg: &str) -> Result<Vec<u8>, String> {
    const ZOOM: f32 = 2.0;
    let mut options = Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_font_data(notosans::REGULAR_TTF.to_vec());
    // The SVG asks for any sans-serif font; this is the only one that is loaded.
    fonts.set_sans_serif_family("Noto Sans");
    let tree = Tree::from_str(svg, &options).map_err(|error| error.to_string())?;
    let size = tree.size().to_int_size().scale_by(ZOOM);
    let pixmap = size.and_then(|size| Pixmap::new(size.width(), size.height()));
    let mut pixmap = pixmap.ok_or("the picture has no size")?;
    resvg::render(&tree, Transform::from_scale(ZOOM, ZOOM), &mut pixmap.as_mut());
    pixmap.encode_png().map_err(|error| error.to_string())
}
