import { distance } from 'fastest-levenshtein';
import { z } from 'zod';

const NAMES_MAX = 5;
const NAME_LENGTH_MAX = 60;

/**
 * An object schema that refuses unknown members. Its message suggests the
 * member that was probably meant: a misspelt one (`enable` → `enabled`), or one
 * that belongs deeper (`adt` → `monitoring.adt`).
 */
export function strictMembers<S extends z.core.$ZodShape>(
  shape: S,
): z.ZodObject<S> {
  const paths = memberPaths(shape);
  const schema = z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys
            .slice(0, NAMES_MAX)
            .map((key) => describeUnknown(key.slice(0, NAME_LENGTH_MAX), paths))
            .join('; ')
        : undefined,
  });
  // Only the handling of unknown members differs; the types of both are the
  // same.
  return schema as unknown as z.ZodObject<S>;
}

/**
 * An object schema that ignores unknown members, except those that are probably
 * misspelt (`colour` → `color`) or belong deeper (`monitoring` →
 * `settings.monitoring`). It refuses these, because ignoring them would change
 * nothing in silence.
 */
export function membersWithoutTypos<S extends z.core.$ZodShape>(
  shape: S,
): Members<z.ZodObject<S>> {
  const paths = memberPaths(shape);
  const refuseTypos = (
    value: unknown,
    { issues }: z.RefinementCtx,
  ): unknown => {
    const unknown = Object.keys(value ?? {}).filter(
      (key) => !(key in shape) && key.length <= NAME_LENGTH_MAX,
    );
    const keys = unknown
      .filter((key) => meantBy(key, paths) !== undefined)
      .slice(0, NAMES_MAX);
    const message = keys.map((key) => describeUnknown(key, paths)).join('; ');
    if (keys.length > 0)
      issues.push({
        code: 'unrecognized_keys',
        keys,
        input: value as Record<string, unknown>,
        message,
      });
    return value;
  };
  return z.preprocess(refuseTypos, z.object(shape)) as unknown as Members<
    z.ZodObject<S>
  >;
}

/**
 * What comes before the object accepts anything; the types are those of the
 * object.
 */
type Members<O extends z.ZodType> = z.ZodType<z.output<O>, z.input<O>>;

function describeUnknown(name: string, paths: readonly string[]): string {
  const meant = meantBy(name, paths);
  if (meant !== undefined)
    return `unknown member ${name}; did you mean ${meant}?`;
  return `unknown member ${name}; the members are ${paths.filter((path) => !path.includes('.')).join(', ')}`;
}

/** The member whose name differs from this one in few letters. */
function meantBy(name: string, paths: readonly string[]): string | undefined {
  const editsTo = (path: string) =>
    distance(name.toLowerCase(), lastName(path).toLowerCase());
  const nearest = paths.reduce((best, path) =>
    editsTo(path) < editsTo(best) ? path : best,
  );
  return editsTo(nearest) <= Math.max(1, Math.floor(name.length / 3))
    ? nearest
    : undefined;
}

const lastName = (path: string): string =>
  path.slice(path.lastIndexOf('.') + 1);

/**
 * The members of a shape and of the objects in it, the outer ones first:
 * `monitoring`, `monitoring.adt`.
 */
function memberPaths(shape: z.core.$ZodShape): string[] {
  const inner = Object.entries(shape).flatMap(([name, schema]) => {
    const below = unwrap(schema);
    return below instanceof z.ZodObject
      ? memberPaths(below.shape).map((path) => `${name}.${path}`)
      : [];
  });
  return [...Object.keys(shape), ...inner];
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  return schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodDefault
    ? unwrap(schema.unwrap() as z.core.$ZodType)
    : schema;
}
