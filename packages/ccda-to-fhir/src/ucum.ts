import atoms from './ucum-atoms.json' with { type: 'json' };

const OTHERS: ReadonlySet<string> = new Set([...atoms.metric, ...atoms.others]);
const METRIC: ReadonlySet<string> = new Set(atoms.metric);

/**
 * A component with its exponent and annotation; atoms in brackets may contain
 * anything, `10*` and `10^` are atoms.
 */
const COMPONENT =
  /^(?:(10[*^]|[^\d./(){}[\]+\s-]*\[[^\]\s]+\]|[^\d./(){}[\]+\s-]+)([+-]?\d+)?|(\d+))?(\{[\x21-\x7a|~]*\})?/;

/**
 * Whether a text is a unit of UCUM (case sensitive), by its grammar and its
 * table of atoms.
 */
export function isUcum(unit: string): boolean {
  return unit.length <= 200 && endOfTerm(unit, 0, true) === unit.length;
}

/** The index after the term that begins there; NaN when there is none. */
function endOfTerm(unit: string, from: number, mayDivide: boolean): number {
  let at = mayDivide && unit[from] === '/' ? from + 1 : from;
  for (;;) {
    at = endOfComponent(unit, at);
    if (unit[at] !== '.' && unit[at] !== '/') return at;
    at += 1;
  }
}

function endOfComponent(unit: string, at: number): number {
  if (unit[at] === '(') {
    const end = endOfTerm(unit, at + 1, true);
    return unit[end] === ')' ? end + 1 : Number.NaN;
  }
  const [whole = '', atom] = COMPONENT.exec(unit.slice(at)) ?? [];
  return whole === '' || (atom !== undefined && !isAtom(atom))
    ? Number.NaN
    : at + whole.length;
}

const isAtom = (atom: string): boolean =>
  OTHERS.has(atom) ||
  atoms.prefixes.some(
    (prefix) =>
      atom.startsWith(prefix) && METRIC.has(atom.slice(prefix.length)),
  );
