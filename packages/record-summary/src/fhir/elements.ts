import type { FhirResource } from 'fhir/r4.js';

/** The name of a resource type of FHIR R4. */
export type ResourceType = FhirResource['resourceType'];

type ResourceOf<T extends ResourceType> = Extract<
  FhirResource,
  { resourceType: T }
>;

/** The name of an element of each of the types: `onsetDateTime`. */
export type ElementOf<T extends ResourceType> = NameIn<ResourceOf<T>>;

/** An element with a value of any type: `effective[x]`. */
export type ChoiceOf<T extends ResourceType> =
  ElementOf<T> extends infer E
    ? E extends `${infer Name}${'CodeableConcept' | 'DateTime' | 'Quantity'}`
      ? `${Name}[x]`
      : never
    : never;

/** Its name without the type of its value: `effective`. */
export type ChoiceNameOf<T extends ResourceType> =
  ChoiceOf<T> extends infer E
    ? E extends `${infer Name}[x]`
      ? Name
      : never
    : never;

/** The name of an element of an element, or of the items of a list. */
export type MemberOf<T extends ResourceType, E extends ElementOf<T>> = MemberIn<
  ResourceOf<T>,
  E
>;

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

type MemberIn<R, E extends string> = R extends { [K in E]?: infer Value }
  ? NameIn<ItemOf<Value>>
  : never;

type ItemOf<Value> = Value extends readonly (infer Item)[] ? Item : Value;
