import type { OpenApiSchema } from '../open-api-document.ts';

/** A member of an object, at any depth: `address[].city`. */
export interface Member {
  path: string;
  /** For a parameter: where it stands. */
  place?: string;
  /** Several where the object has one of several forms. */
  schemas: readonly OpenApiSchema[];
  /** Whether the member is required wherever its parent is present. */
  isRequired: boolean;
}

/** All members of a value, with those of nested objects. Components that the value refers to are not followed. */
export function membersOf(schema: OpenApiSchema, path = ''): Member[] {
  const { properties = {}, required = [], items, additionalProperties } = schema;
  const own = Object.entries(properties).flatMap(([name, child]): Member[] => {
    const childPath = path === '' ? name : `${path}.${name}`;
    const member = { path: childPath, schemas: [child], isRequired: required.includes(name) };
    return [member, ...membersOf(child, childPath)];
  });
  const ofItems = items === undefined ? [] : membersOf(items, `${path}[]`);
  const ofValues =
    typeof additionalProperties === 'object' ? membersOf(additionalProperties, `${path}.*`) : [];
  return [...own, ...ofItems, ...ofValues, ...membersOfForms(formsOf(schema), path)];
}

/** The forms that a value can have. Alternatives that only restrict a form described elsewhere are not forms. */
export const formsOf = ({ anyOf, oneOf }: OpenApiSchema): readonly OpenApiSchema[] =>
  (anyOf ?? oneOf ?? []).filter(
    (form) =>
      form.type !== undefined ||
      form.$ref !== undefined ||
      form.const !== undefined ||
      form.enum !== undefined,
  );

/** Members that several forms have stand there once; they are required if every form requires them. */
function membersOfForms(forms: readonly OpenApiSchema[], path: string): Member[] {
  const merged = new Map<string, Member[]>();
  for (const member of forms.flatMap((form) => membersOf(form, path)))
    merged.set(member.path, [...(merged.get(member.path) ?? []), member]);
  const objects = forms.filter(({ properties }) => properties !== undefined);
  return [...merged].map(([memberPath, members]) => ({
    path: memberPath,
    schemas: members.flatMap(({ schemas }) => schemas).filter((schema) => !isRefused(schema)),
    isRequired: members.length >= objects.length && members.every(({ isRequired }) => isRequired),
  }));
}

/** `not: {}`: no value is accepted. */
export const isRefused = ({ not }: OpenApiSchema): boolean =>
  not !== undefined && Object.keys(not).length === 0;
