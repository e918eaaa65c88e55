import type { FhirResource } from 'fhir/r4.js';
import type { FieldPlace, SegmentGroup } from './field-places.ts';
import type { ObservationReading } from './value.ts';

/** Reads one value from the places of a row; undefined if they say nothing. */
export type ElementReader<T> = (
  group: SegmentGroup,
  from: readonly FieldPlace[],
  reading: ObservationReading,
) => T | undefined;

/** Elements that HL7 v2 has nothing for. */
type Unmapped =
  | `_${string}`
  | 'id'
  | 'contained'
  | 'extension'
  | 'modifierExtension'
  | 'implicitRules'
  | 'language'
  | 'assigner';

/** The elements of a type of FHIR; a Reference goes on without end. */
type ElementOf<T> = 'reference' extends keyof T
  ? Extract<keyof T, 'reference' | 'display'>
  : Exclude<keyof T & string, Unmapped>;

/** How deep a path may go: each item is the length that remains. */
type Shorter = [never, 0, 1, 2, 3, 4];

/**
 * A path to an element of a type of FHIR: `status`, `code.text`. The first item
 * of a list is `identifier[]`, what stands in it `identifier[].value`.
 */
type ElementPath<T, Length extends number = 5> = Length extends 0
  ? never
  : T extends string | number | boolean
    ? never
    : {
        [Name in ElementOf<T>]: NonNullable<
          T[Name]
        > extends readonly (infer Item)[]
          ?
              | Name
              | `${Name}[]`
              | `${Name}[].${ElementPath<Item, Shorter[Length]>}`
          :
              | Name
              | `${Name}.${ElementPath<NonNullable<T[Name]>, Shorter[Length]>}`;
      }[ElementOf<T>];

type ItemOf<T> = NonNullable<T> extends readonly (infer Item)[] ? Item : never;

/** The type of the element at a path. */
type ElementAt<T, Path> = Path extends `${infer Name}[].${infer Rest}`
  ? Name extends keyof T
    ? ElementAt<ItemOf<T[Name]>, Rest>
    : AfterDot<T, Path>
  : AfterDot<T, Path>;

type AfterDot<T, Path> = Path extends `${infer Name}.${infer Rest}`
  ? Name extends keyof T
    ? ElementAt<NonNullable<T[Name]>, Rest>
    : never
  : Path extends `${infer Name}[]`
    ? Name extends keyof T
      ? ItemOf<T[Name]>
      : never
    : Path extends keyof T
      ? NonNullable<T[Path]>
      : never;

/**
 * How one element of a resource is read. Of several places, the first that has
 * a value counts, unless the reader says otherwise.
 */
export type ElementMapping<Resource> = {
  [Path in ElementPath<Resource>]: ElementRow<
    Path,
    ElementAt<Resource, Path>,
    ElementOf<Resource>
  >;
}[ElementPath<Resource>];

interface ElementRow<To, Value, Name> {
  to: To;
  from: readonly FieldPlace[];
  read: ElementReader<Value>;
  /** The element of the same choice that this one replaces. */
  instead?: Name;
  /** What it is, in the refusal of a message without it. */
  required?: string;
}

/** A row of any resource, as it is interpreted. */
export type AnyElementMapping = ElementRow<string, unknown, string>;

/** How a resource is read from a group of segments. */
export interface ResourceMapping<Resource extends FhirResource> {
  /** What all resources of the kind have. */
  resource: Partial<Resource> & Pick<Resource, 'resourceType'>;
  elements: readonly ElementMapping<Resource>[];
}

/** A mapping to any resource, as it is interpreted. */
export interface AnyResourceMapping {
  resource: { resourceType: string };
  elements: readonly AnyElementMapping[];
}

/** A mapping whose resources are told apart by a number, else by their code. */
export interface NumberedMapping<Resource extends FhirResource>
  extends ResourceMapping<Resource>,
    Numbered {}

/** A mapping to any such resource, as it is interpreted. */
export interface AnyNumberedMapping extends AnyResourceMapping, Numbered {}

interface Numbered {
  number: readonly FieldPlace[];
}
