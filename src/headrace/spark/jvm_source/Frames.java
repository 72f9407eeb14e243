package headrace.spark;

import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;

/** The entry points for Python: DataFrames over pinned files, and facts about queries. */
public final class Frames {
  /** Reads the files of a stream; `withVectors` says whether any has a deletion vector. */
  public FileList files(String stream, StructType partitions, boolean withVectors)
      throws Exception {
    StructField vectors =
        DataTypes.createStructField(Vectors.COLUMN, DataTypes.BinaryType, true);
    return new FileList(stream, partitions, withVectors ? vectors : null);
  }

  public PinnedFileIndex index(
      String identity,
      String shown,
      String root,
      FileList files,
      Function kernel,
      Function vectors) {
    return new PinnedFileIndex(identity, shown, root, files, kernel, vectors);
  }

  /** Returns the rows of an index's files that are not deleted, with the schema's columns. */
  public Dataset scan(
      SparkSession session,
      PinnedFileIndex index,
      StructType dataSchema,
      boolean byFieldId,
      Map options) {
    scala.collection.immutable.Map settings =
        scala.collection.immutable.Map$.MODULE$.from(
            scala.jdk.javaapi.CollectionConverters.asScala(options));
    HadoopFsRelation relation =
        new HadoopFsRelation(
            index,
            index.partitionSchema(),
            dataSchema,
            scala.Option.empty(),
            new ParquetFileFormat(),
            settings,
            byFieldId ? matchingByFieldId(session) : session);
    Dataset rows = session.baseRelationToDataFrame(relation);
    StructType partitions = index.partitionSchema();
    if (!partitions.getFieldIndex(Vectors.COLUMN).isDefined()) {
      return rows;
    }
    LogicalPlan plan = ((org.apache.spark.sql.classic.Dataset) rows).queryExecution().analyzed();
    return Dataset$.MODULE$.ofRows(session, new Filter(Vectors.isNotDeleted(plan), plan));
  }

  /**
   * Returns a copy of the session in which columns are matched by field id.
   *
   * <p>Only the reader of the files uses it; the user's session is unchanged.
   */
  private static SparkSession matchingByFieldId(SparkSession session) {
    SparkSession copy = session.cloneSession();
    copy.conf().set("spark.sql.parquet.fieldId.read.enabled", true);
    return copy;
  }

  /** Returns why a query may return different values in another run, one reason per line. */
  public String volatility(Dataset rows) {
    return Volatility.of(((org.apache.spark.sql.classic.Dataset) rows).queryExecution().analyzed());
  }

  /** Returns the filters that a query pushes into its scan of pinned files, as JSON, or null. */
  public String pushedPredicate(Dataset rows) {
    Iterator operators =
        ((org.apache.spark.sql.classic.Dataset) rows)
            .queryExecution()
            .sparkPlan()
            .collectLeaves()
            .iterator();
    while (operators.hasNext()) {
      Object operator = operators.next();
      if (operator instanceof FileSourceScanExec) {
        FileSourceScanExec scan = (FileSourceScanExec) operator;
        if (scan.relation().location() instanceof PinnedFileIndex) {
          return Predicates.toJson(scan.partitionFilters(), scan.dataFilters());
        }
      }
    }
    return null;
  }
}
