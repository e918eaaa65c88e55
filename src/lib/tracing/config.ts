import { type Config, ConfigError } from '../../config.ts';

export const TRACE_VARIABLES = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_TRACES_SAMPLER_ARG',
  'OTEL_RESOURCE_ATTRIBUTES',
] as const;

type Variables = Config<(typeof TRACE_VARIABLES)[number]>;

export interface TracingConfig {
  endpoint: string;
  headers: Record<string, string>;
  /**
   * The share of traces that is kept, of those that no caller has decided
   * about.
   */
  ratio: number;
  resource: Record<string, string>;
}

/** Undefined when traces are off, which is the default. Throws ConfigError. */
export function tracingConfig(variables: Variables): TracingConfig | undefined {
  const endpoint = variables.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (endpoint === undefined) return undefined;
  return {
    endpoint,
    headers: pairs(
      'OTEL_EXPORTER_OTLP_HEADERS',
      variables.OTEL_EXPORTER_OTLP_HEADERS,
    ),
    ratio: variables.OTEL_TRACES_SAMPLER_ARG,
    resource: pairs(
      'OTEL_RESOURCE_ATTRIBUTES',
      variables.OTEL_RESOURCE_ATTRIBUTES,
    ),
  };
}

/**
 * `key=value,key=value`, the values percent-encoded, as OpenTelemetry specifies
 * it.
 */
function pairs(variable: string, text = ''): Record<string, string> {
  const items = text.split(',').filter((item) => item.trim() !== '');
  try {
    return Object.fromEntries(
      items.map((item) => {
        const [, name = '', value = ''] =
          /^([^=]+)=(.*)$/.exec(item.trim()) ?? [];
        if (name === '') throw new Error('no name');
        return [name.trim(), decodeURIComponent(value.trim())];
      }),
    );
  } catch {
    throw new ConfigError(
      `${variable} must have the form name=value,name=value (values percent-encoded)`,
    );
  }
}
