package headrace.spark;

import java.nio.ByteBuffer;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.expressions.objects.NewInstance;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StructType;
import org.roaringbitmap.buffer.ImmutableRoaringBitmap;
import scala.collection.immutable.Seq;

/**
 * Deletion vectors as a filter of Spark's own.
 *
 * <p>A vector is a roaring bitmap, and Spark has the library that reads them wherever it runs. So
 * the filter is made of calls into that library, which Spark compiles into its generated code:
 * no join, no Python, and no class of ours on any executor.
 */
public final class Vectors {
  /** The hidden partition column that holds a file's vector, null where there is none. */
  public static final String COLUMN = "__headrace_deletion_vector";

  private Vectors() {}

  /** Whether a row of a scan of files is not deleted. */
  static Expression isKept(LogicalPlan scan) {
    Expression vector = UnresolvedAttribute$.MODULE$.quoted(COLUMN);
    // By its place, not by its name: a table may have a column `_metadata` of its own.
    Attribute metadata = (Attribute) scan.metadataOutput().head();
    int rowIndex = ((StructType) metadata.dataType()).fieldIndex("row_index");
    Expression row = new GetStructField(metadata, rowIndex, scala.Option.empty());
    Seq none = Predicates.seq(new Expression[0]);
    Expression buffer =
        new StaticInvoke(
            ByteBuffer.class,
            new ObjectType(ByteBuffer.class),
            "wrap",
            Predicates.seq(new Expression[] {vector}),
            none,
            true,
            false,
            true,
            scala.Option.empty());
    Expression bitmap =
        new NewInstance(
            ImmutableRoaringBitmap.class,
            Predicates.seq(new Expression[] {buffer}),
            none,
            true,
            new ObjectType(ImmutableRoaringBitmap.class),
            scala.Option.empty());
    // Rows are counted without a sign: the upper half of them turns negative here, as it must.
    Expression place =
        new Cast(row, DataTypes.IntegerType, scala.Option.empty(), EvalMode$.MODULE$.LEGACY());
    Expression contains =
        new Invoke(
            bitmap,
            "contains",
            DataTypes.BooleanType,
            Predicates.seq(new Expression[] {place}),
            none,
            true,
            false,
            true);
    return new Or(new IsNull(vector), new Not(contains));
  }
}
