import type { FhirResource } from 'fhir/r4.js';

/** The name of a resource type of FHIR R4. */
export type ResourceType = FhirResource['resourceType'];

type ResourceOf<T extends ResourceType> = Extract<
  FhirResource,
  { resourceType: T }
>;

/** The name of an element of each of the types: `onsetDateTime`. */
export type ElementOf<T extends ResourceType> = NameIn<ResourceOf<T>>;

/** An element, or an element of one, as FHIR writes it: `context.period`. */
export type ElementPath<T extends ResourceType> = PathIn<ResourceOf<T>>;

/** A resource of one of the types, as received: only its names are known. */
export type ReceivedResource<T extends ResourceType> = {
  readonly [E in ElementOf<T>]?: unknown;
};

type NameIn<R> = R extends object ? keyof R & string : never;

type PathIn<R> = R extends object
  ? {
      [E in keyof R & string]: E | `${E}.${NameIn<ItemOf<R[E]>>}`;
    }[keyof R & string]
  : never;

type ItemOf<Value> = Value extends readonly (infer Item)[] ? Item : Value;
