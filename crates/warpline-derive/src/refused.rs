//! What does not compile. Each example has one line that must not be there; without it, it
//! compiles.

/// A plain field that no log can hold.
///
/// ```
/// #[derive(Debug, warpline::State)]
/// struct Lp {
///     #[state(fixed)]
///     table: std::sync::Arc<[u8]>,
/// }
/// ```
///
/// ```compile_fail,E0277
/// #[derive(Debug, warpline::State)]
/// struct Lp {
///     table: std::sync::Arc<[u8]>,
/// }
/// ```
struct NoValue;

/// A nested type with a plain field.
///
/// ```
/// #[derive(Debug, warpline::State)]
/// struct Port {
///     rate: warpline::Tracked<u8>,
/// }
/// #[derive(Debug, warpline::State)]
/// struct Lp {
///     #[state(nested)]
///     ports: Vec<Port>,
/// }
/// ```
///
/// ```compile_fail,E0277
/// #[derive(Debug, warpline::State)]
/// struct Port {
///     rate: u8,
/// }
/// #[derive(Debug, warpline::State)]
/// struct Lp {
///     #[state(nested)]
///     ports: Vec<Port>,
/// }
/// ```
struct NestedPlainField;

/// A second `Clone`.
///
/// ```compile_fail,E0119
/// #[derive(Clone, Debug, warpline::State)]
/// struct Lp {
///     handled: u64,
/// }
/// ```
struct SecondClone;

/// A tracked field in a value: a value is saved whole.
///
/// ```compile_fail,E0277
/// #[derive(Clone, Debug, warpline::Value)]
/// struct Value {
///     queue: warpline::TrackedDeque<u8>,
/// }
/// ```
struct TrackedInValue;
