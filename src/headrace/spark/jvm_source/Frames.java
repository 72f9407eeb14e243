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

/** What Python calls: DataFrames over pinned files, and what Spark would ask of them. */
public final class Frames {
  /** The files of a stream; `withVectors` tells whether any of them has a deletion vector. */
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

  /** The rows of the index's files that are not deleted, as the schema names their columns. */
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
    return Dataset$.MODULE$.ofRows(session, new Filter(Vectors.isKept(plan), plan));
  }

  /**
   * The session, but for one setting: columns are found in files by their ids.
   *
   * <p>It is for the reader of the files alone; the user's own stays as it is.
   */
  private static SparkSession matchingByFieldId(SparkSession session) {
    SparkSession reading = session.cloneSession();
    reading.conf().set("spark.sql.parquet.fieldId.read.enabled", true);
    return reading;
  }

  /** What in a query may give another value in another run, one reason a line. */
  public String volatility(Dataset rows) {
    return Volatility.of(((org.apache.spark.sql.classic.Dataset) rows).queryExecution().analyzed());
  }

  /** The filters that a query would push into its only scan of files, as JSON; null for none. */
  public String pushedPredicate(Dataset rows) {
    Iterator leaves =
        ((org.apache.spark.sql.classic.Dataset) rows)
            .queryExecution()
            .sparkPlan()
            .collectLeaves()
            .iterator();
    while (leaves.hasNext()) {
      Object leaf = leaves.next();
      if (leaf instanceof FileSourceScanExec) {
        FileSourceScanExec scan = (FileSourceScanExec) leaf;
        if (scan.relation().location() instanceof PinnedFileIndex) {
          return Predicates.toJson(scan.partitionFilters(), scan.dataFilters());
        }
      }
    }
    return null;
  }
}
