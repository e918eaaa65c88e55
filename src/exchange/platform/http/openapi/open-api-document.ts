/**
 * The parts of the generated OpenAPI document that the examples and the
 * reference page use.
 */
export interface OpenApiDocument {
  info: { title: string; description?: string };
  tags?: readonly OpenApiTag[];
  paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  components: { schemas: Readonly<Record<string, OpenApiSchema>> };
}

export interface OpenApiTag {
  name: string;
  description?: string;
}

export interface OpenApiOperation {
  operationId: string;
  summary?: string;
  description?: string;
  tags?: readonly string[];
  parameters?: OpenApiParameter[];
  requestBody?: { content: Record<string, OpenApiContent> };
  responses: Record<
    string,
    { description?: string; content?: Record<string, OpenApiContent> }
  >;
  callbacks?: object;
  /**
   * The request of the example as commands; a vendor extension that most tools
   * know.
   */
  'x-codeSamples'?: ReadonlyArray<{ lang: string; source: string }>;
}

export interface OpenApiParameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description?: string;
  schema: OpenApiSchema;
  example?: unknown;
}

export interface OpenApiContent {
  schema?: OpenApiSchema;
  example?: unknown;
}

/** JSON Schema, as far as the contract uses it to describe values. */
export interface OpenApiSchema {
  $ref?: string;
  type?: string | readonly string[];
  format?: string;
  description?: string;
  const?: unknown;
  enum?: readonly unknown[];
  anyOf?: readonly OpenApiSchema[];
  oneOf?: readonly OpenApiSchema[];
  properties?: Readonly<Record<string, OpenApiSchema>>;
  required?: readonly string[];
  additionalProperties?: boolean | OpenApiSchema;
  items?: OpenApiSchema;
  prefixItems?: readonly OpenApiSchema[];
  not?: OpenApiSchema;
  default?: unknown;
  examples?: readonly unknown[];
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
  pattern?: string;
}

export const COMPONENT = '#/components/schemas/';

/** The name of the component that a schema refers to. */
export const componentName = ({
  $ref,
}: {
  $ref?: unknown;
}): string | undefined =>
  typeof $ref === 'string' && $ref.startsWith(COMPONENT)
    ? $ref.slice(COMPONENT.length)
    : undefined;
