import ca.uhn.fhir.batch2.jobs.config.Batch2JobsConfig;
import ca.uhn.fhir.context.FhirContext;
import ca.uhn.fhir.context.support.IValidationSupport;
import ca.uhn.fhir.jpa.api.IDaoRegistry;
import ca.uhn.fhir.jpa.api.config.JpaStorageSettings;
import ca.uhn.fhir.jpa.api.config.ThreadPoolFactoryConfig;
import ca.uhn.fhir.jpa.api.dao.DaoRegistry;
import ca.uhn.fhir.jpa.api.dao.IFhirSystemDao;
import ca.uhn.fhir.jpa.batch2.JpaBatch2Config;
import ca.uhn.fhir.jpa.config.HibernatePropertiesProvider;
import ca.uhn.fhir.jpa.config.r4.JpaR4Config;
import ca.uhn.fhir.jpa.config.util.HapiEntityManagerFactoryUtil;
import ca.uhn.fhir.jpa.config.util.ResourceCountCacheUtil;
import ca.uhn.fhir.jpa.dao.search.HSearchSortHelperImpl;
import ca.uhn.fhir.jpa.dao.search.IHSearchSortHelper;
import ca.uhn.fhir.jpa.ips.generator.IpsGeneratorSvcImpl;
import ca.uhn.fhir.jpa.ips.jpa.DefaultJpaIpsGenerationStrategy;
import ca.uhn.fhir.jpa.ips.provider.IpsOperationProvider;
import ca.uhn.fhir.jpa.mdm.config.MdmConsumerConfig;
import ca.uhn.fhir.jpa.mdm.config.MdmSubmitterConfig;
import ca.uhn.fhir.jpa.model.config.PartitionSettings;
import ca.uhn.fhir.jpa.model.config.SubscriptionSettings;
import ca.uhn.fhir.jpa.model.dialect.HapiFhirH2Dialect;
import ca.uhn.fhir.jpa.model.dialect.HapiFhirPostgresDialect;
import ca.uhn.fhir.jpa.nickname.INicknameSvc;
import ca.uhn.fhir.jpa.nickname.NicknameSvc;
import ca.uhn.fhir.jpa.provider.DaoRegistryResourceSupportedSvc;
import ca.uhn.fhir.jpa.provider.IJpaSystemProvider;
import ca.uhn.fhir.jpa.provider.JpaCapabilityStatementProvider;
import ca.uhn.fhir.jpa.search.DatabaseBackedPagingProvider;
import ca.uhn.fhir.jpa.search.IStaleSearchDeletingSvc;
import ca.uhn.fhir.jpa.search.StaleSearchDeletingSvcImpl;
import ca.uhn.fhir.jpa.subscription.channel.config.SubscriptionChannelConfig;
import ca.uhn.fhir.jpa.subscription.match.config.SubscriptionProcessorConfig;
import ca.uhn.fhir.jpa.subscription.match.deliver.email.IEmailSender;
import ca.uhn.fhir.jpa.subscription.submit.config.SubscriptionSubmitterConfig;
import ca.uhn.fhir.jpa.util.ResourceCountCache;
import ca.uhn.fhir.mdm.api.IMdmSettings;
import ca.uhn.fhir.mdm.api.MdmModeEnum;
import ca.uhn.fhir.mdm.provider.MdmProviderLoader;
import ca.uhn.fhir.mdm.rules.config.MdmRuleValidator;
import ca.uhn.fhir.mdm.rules.config.MdmSettings;
import ca.uhn.fhir.rest.api.EncodingEnum;
import ca.uhn.fhir.rest.api.IResourceSupportedSvc;
import ca.uhn.fhir.rest.server.RestfulServer;
import ca.uhn.fhir.rest.server.provider.ResourceProviderFactory;
import ca.uhn.fhir.rest.server.util.ISearchParamRegistry;
import jakarta.persistence.EntityManagerFactory;
import java.io.IOException;
import java.util.Map;
import javax.sql.DataSource;
import org.apache.commons.dbcp2.BasicDataSource;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.h2.jdbcx.JdbcConnectionPool;
import org.hibernate.dialect.Dialect;
import org.hl7.fhir.dstu2.model.Subscription.SubscriptionChannelType;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Primary;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;

/**
 * HAPI FHIR's JPA server (R4) with an embedded Jetty, for the tests in test/foreign and a benchmark.
 *
 * <p>Arguments: the port, the database (the file of an H2 database, which survives a restart, or the JDBC address of a
 * PostgreSQL database with its login), and "match" for a server that has
 * Patient/$match (by HAPI's MDM module), "summary" for one that has Patient/$summary (by its IPS module). Prints READY once it serves requests. It
 * calls itself by the Host header of each request.
 */
public final class HapiServer {
  public static void main(String[] args) throws Exception {
    int port = Integer.parseInt(args[0]);
    System.setProperty("exchange.database", args[1]);
    AnnotationConfigApplicationContext spring = new AnnotationConfigApplicationContext();
    spring.register(Config.class);
    if (args.length > 2) spring.register(args[2].equals("match") ? MatchConfig.class : SummaryConfig.class);
    spring.refresh();
    RestfulServer fhir = spring.getBean(RestfulServer.class);
    Server jetty = new Server();
    ServerConnector connector = new ServerConnector(jetty);
    connector.setHost("127.0.0.1");
    connector.setPort(port);
    jetty.addConnector(connector);
    ServletContextHandler context = new ServletContextHandler("/");
    context.addServlet(new ServletHolder(fhir), "/fhir/*");
    jetty.setHandler(context);
    jetty.start();
    System.out.println("READY");
    jetty.join();
  }

  @Configuration
  @Import({
    JpaR4Config.class,
    ThreadPoolFactoryConfig.class,
    JpaBatch2Config.class,
    Batch2JobsConfig.class,
    SubscriptionChannelConfig.class,
  })
  static class Config {
    private static String database() {
      return System.getProperty("exchange.database");
    }

    private static boolean isPostgres() {
      return database().startsWith("jdbc:postgresql:");
    }

    private static Class<? extends Dialect> dialect() {
      return isPostgres() ? HapiFhirPostgresDialect.class : HapiFhirH2Dialect.class;
    }

    @Bean
    DataSource dataSource() {
      if (!isPostgres()) return JdbcConnectionPool.create("jdbc:h2:file:" + database(), "sa", "");
      BasicDataSource pool = new BasicDataSource();
      pool.setUrl(database());
      pool.setMaxTotal(20);
      pool.setMaxIdle(20);
      return pool;
    }

    @Bean
    @Primary
    LocalContainerEntityManagerFactoryBean entityManagerFactory(
        DataSource dataSource,
        ConfigurableListableBeanFactory beans,
        FhirContext fhir,
        JpaStorageSettings settings) {
      LocalContainerEntityManagerFactoryBean factory =
          HapiEntityManagerFactoryUtil.newEntityManagerFactory(beans, fhir, settings);
      factory.setPersistenceUnitName("HAPI_PU");
      factory.setDataSource(dataSource);
      factory.setJpaPropertyMap(
          Map.of(
              "hibernate.dialect", dialect().getName(),
              "hibernate.hbm2ddl.auto", "update",
              "hibernate.search.enabled", "false"));
      return factory;
    }

    @Bean
    @Primary
    JpaTransactionManager transactionManager(EntityManagerFactory factory) {
      return new JpaTransactionManager(factory);
    }

    @Bean
    @Primary
    HibernatePropertiesProvider dialectProvider() {
      return new HibernatePropertiesProvider() {
        @Override
        public Dialect getDialect() {
          return isPostgres() ? new HapiFhirPostgresDialect() : new HapiFhirH2Dialect();
        }
      };
    }

    @Bean
    JpaStorageSettings storageSettings() {
      JpaStorageSettings settings = new JpaStorageSettings();
      settings.setAllowExternalReferences(true);
      settings.setEnforceReferentialIntegrityOnDelete(false);
      settings.setEnforceReferentialIntegrityOnWrite(false);
      settings.setResourceClientIdStrategy(JpaStorageSettings.ClientIdStrategyEnum.ANY);
      settings.setResourceServerIdStrategy(JpaStorageSettings.IdStrategyEnum.UUID);
      return settings;
    }

    @Bean
    PartitionSettings partitionSettings() {
      return new PartitionSettings();
    }

    @Bean
    SubscriptionSettings subscriptionSettings() {
      return new SubscriptionSettings();
    }

    @Bean
    IStaleSearchDeletingSvc staleSearches() {
      return new StaleSearchDeletingSvcImpl();
    }

    @Bean
    IHSearchSortHelper sortHelper(ISearchParamRegistry parameters) {
      return new HSearchSortHelperImpl(parameters);
    }

    @Bean
    IResourceSupportedSvc supportedResources(IDaoRegistry daos) {
      return new DaoRegistryResourceSupportedSvc(daos);
    }

    @Bean(name = "myResourceCountsCache")
    ResourceCountCache resourceCounts(IFhirSystemDao<?, ?> dao) {
      return ResourceCountCacheUtil.newResourceCountCache(dao);
    }

    @Bean
    DatabaseBackedPagingProvider paging() {
      DatabaseBackedPagingProvider paging = new DatabaseBackedPagingProvider();
      paging.setDefaultPageSize(20);
      paging.setMaximumPageSize(200);
      return paging;
    }

    @Bean
    RestfulServer restfulServer(
        FhirContext context,
        IFhirSystemDao<?, ?> dao,
        IJpaSystemProvider system,
        ResourceProviderFactory resources,
        JpaStorageSettings settings,
        ISearchParamRegistry parameters,
        IValidationSupport validation,
        DatabaseBackedPagingProvider paging,
        ObjectProvider<MdmProviderLoader> matching,
        ObjectProvider<IpsOperationProvider> summaries) {
      RestfulServer server = new RestfulServer(context);
      matching.ifAvailable(MdmProviderLoader::loadPatientMatchProvider);
      server.registerProviders(resources.createProviders());
      server.registerProvider(system);
      summaries.ifAvailable(server::registerProvider);
      server.setServerConformanceProvider(
          new JpaCapabilityStatementProvider(server, dao, settings, parameters, validation));
      server.setDefaultResponseEncoding(EncodingEnum.JSON);
      server.setPagingProvider(paging);
      return server;
    }
  }

  /** The International Patient Summary as HAPI's IPS module makes it by default. */
  @Configuration
  static class SummaryConfig {
    @Bean
    DefaultJpaIpsGenerationStrategy summaryStrategy(DaoRegistry daos, FhirContext fhir) {
      DefaultJpaIpsGenerationStrategy strategy = new DefaultJpaIpsGenerationStrategy();
      strategy.setDaoRegistry(daos);
      strategy.setFhirContext(fhir);
      return strategy;
    }

    @Bean
    IpsOperationProvider summaryProvider(FhirContext fhir, DefaultJpaIpsGenerationStrategy strategy) {
      return new IpsOperationProvider(new IpsGeneratorSvcImpl(fhir, strategy));
    }
  }

  /** Matches people by birth date, then by the sound of their names; grades are certain or possible. Nothing is merged. */
  @Configuration
  @Import({
    MdmConsumerConfig.class,
    MdmSubmitterConfig.class,
    SubscriptionProcessorConfig.class,
    SubscriptionSubmitterConfig.class,
  })
  static class MatchConfig {
    /** MDM listens to changes by them, also if it only matches. */
    @Autowired
    void enableSubscriptions(SubscriptionSettings settings) {
      settings.addSupportedSubscriptionType(SubscriptionChannelType.MESSAGE);
    }

    @Bean
    IEmailSender noEmails() {
      return details -> {};
    }

    @Bean
    INicknameSvc nicknames() {
      return new NicknameSvc();
    }

    @Bean
    IMdmSettings mdmSettings(MdmRuleValidator validator) throws IOException {
      MdmSettings settings = new MdmSettings(validator);
      settings.setEnabled(true);
      settings.setMdmMode(MdmModeEnum.MATCH_ONLY);
      settings.setScriptText(
          """
          {
            "version": "1",
            "mdmTypes": ["Patient"],
            "candidateSearchParams": [{"resourceType": "Patient", "searchParams": ["birthdate"]}],
            "candidateFilterSearchParams": [],
            "matchFields": [
              {"name": "given", "resourceType": "Patient", "resourcePath": "name.given", "matcher": {"algorithm": "SOUNDEX"}},
              {"name": "family", "resourceType": "Patient", "resourcePath": "name.family", "matcher": {"algorithm": "SOUNDEX"}}
            ],
            "matchResultMap": {"given": "POSSIBLE_MATCH", "given,family": "MATCH"}
          }
          """);
      return settings;
    }
  }
}
