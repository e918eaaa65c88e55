/**
 * A copy of a template of JSON with the values of the names that stand in its
 * texts in braces: `Patient/{id}`. A text that is one name becomes the value
 * itself; a member without a value is left out.
 */
export function filled(
  template: unknown,
  values: Readonly<Record<string, unknown>>,
): unknown {
  if (typeof template === 'string') {
    const [, whole] = /^\{(\w+)\}$/.exec(template) ?? [];
    return whole === undefined ? filledText(template, values) : values[whole];
  }
  if (Array.isArray(template))
    return template.map((item) => filled(item, values));
  if (typeof template !== 'object' || template === null) return template;
  const members = Object.entries(template).map(([name, part]) => [
    name,
    filled(part, values),
  ]);
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
}

/** As `filled`, of a text; nothing stands for a name without a value. */
export const filledText = (
  text: string,
  values: Readonly<Record<string, unknown>>,
): string =>
  text.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    String(values[name] ?? ''),
  );
