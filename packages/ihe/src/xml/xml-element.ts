/**
 * An element of an XML document, with its name and namespace resolved: which
 * prefix the sender chose makes no difference.
 */
export interface XmlElement {
  /** Empty for an element without a namespace. */
  namespace: string;
  /** The local name, without a prefix. */
  name: string;
  attributes: readonly XmlAttribute[];
  children: readonly XmlElement[];
  /** The element's own text as written, without that of its children. */
  text: string;
  /** Undefined for the root. */
  parent: XmlElement | undefined;
}

/** An attribute; declarations of namespaces are not among them. */
export interface XmlAttribute {
  /** Empty for an attribute without a prefix. */
  namespace: string;
  name: string;
  value: string;
}

export const isNamed = (
  element: XmlElement,
  namespace: string,
  name: string,
): boolean => element.name === name && element.namespace === namespace;

/** The children of that name, in the order of the document. */
export function childrenNamed(
  element: XmlElement | undefined,
  namespace: string,
  name: string,
): XmlElement[] {
  return (element?.children ?? []).filter((child) =>
    isNamed(child, namespace, name),
  );
}

/**
 * The first child of that name; with several names, the first child along that
 * path: `firstNamed(envelope, SOAP, 'Header', 'Code')`.
 */
export function firstNamed(
  element: XmlElement | undefined,
  namespace: string,
  ...path: readonly [string, ...string[]]
): XmlElement | undefined {
  let found = element;
  for (const name of path)
    found = found?.children.find((child) => isNamed(child, namespace, name));
  return found;
}

/** All elements of that name below, in the order of the document. */
export function descendantsNamed(
  element: XmlElement | undefined,
  namespace: string,
  name: string,
): XmlElement[] {
  const found: XmlElement[] = [];
  const collect = (from: XmlElement) => {
    for (const child of from.children) {
      if (isNamed(child, namespace, name)) found.push(child);
      collect(child);
    }
  };
  if (element !== undefined) collect(element);
  return found;
}

/** An element's own text without outer space; undefined when it is blank. */
export const xmlText = (element: XmlElement | undefined): string | undefined =>
  element?.text.trim() || undefined;

/**
 * The value of an attribute without outer space; undefined when it is missing
 * or blank.
 *
 * @param namespace left out for an attribute without a prefix, as most are
 */
export function attributeOf(
  element: XmlElement | undefined,
  name: string,
  namespace = '',
): string | undefined {
  const found = element?.attributes.find(
    (each) => each.name === name && each.namespace === namespace,
  );
  return found?.value.trim() || undefined;
}
